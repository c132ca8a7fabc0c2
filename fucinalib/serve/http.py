"""The server: OpenAI's protocol over HTTP, on starlette and uvicorn.

Nobody outside this computer gets in unless the server was told to listen there, and then not without the key. What
comes in is bounded: the head, the body, the time it takes, the answers that wait. Who leaves frees the model within a
token, and a reader who reads nothing is left after a minute."""
import asyncio, base64, hmac, json, signal, socket, threading, time
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from importlib.resources import files
from ipaddress import ip_address
import h11, uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol
from ..errors import FucinaError, OptionError, brief, fault
from ..llm.templates import Template
from .answers import chunk, error_of, listed_models, prompt_text, whole_chat, whole_text
from .asked import MOST, read_chat, read_completion, read_texts, refuse, value_of
from .scheduler import QueueFull, Scheduler
from .schemas import Guide, Schema, TokenTree
from .tools import dialect_of
from .unfit import SchemaError

__all__ = ['Serving', 'app_of', 'Server', 'listen']

BODY = 4 << 20      # bytes of a request
HEADERS = 32 << 10
HEAD = 20           # seconds for a head to come
PATIENCE = 60       # seconds for a body to come, and for a reader to read
FORMS = 32          # schemas whose grammars are kept
GRACE = 5           # seconds that answers may go on when the server is to end


class Serving:
    "What is served: a model under a name, and a scheduler for it."
    def __init__(self,
                 model,         # of fl.llm.load
                 name='fucina', # what clients call it
                 *,
                 encoder=None,  # an Encoder, for /v1/embeddings
                 think=False,   # whether chats think aloud, where a request does not say
                 most=MOST,     # tokens of an answer, where a request does not say
                 key=None,      # what clients have to show; None: nothing
                 **bounds,      # of the Scheduler: seats, queue, chunk
                ):
        self.model, self.name, self.encoder, self.think, self.most = model, name, encoder, think, most
        self.tokenizer, self.key, self.since = model.tokenizer, key or None, int(time.time())
        self.template = Template.of(model) if getattr(model, 'template', None) else None
        self.dialect = dialect_of(self.template and self.template.source)
        self.control = getattr(self.tokenizer, 'control', ())
        self.scheduler, self.vocabulary, self.forms = Scheduler(model, **bounds), None, {}
        self.preparing = asyncio.Semaphore(1)      # tokenizers and templates: one request at a time, off the loop

    def guides(self, form, after):
        "A function that makes guides for a schema; the grammars of the last ones are kept, with their masks."
        if self.vocabulary is None: self.vocabulary = TokenTree(self.tokenizer)
        key = json.dumps(form)
        self.forms[key] = made = self.forms.pop(key, None) or Schema(form)
        if len(self.forms) > FORMS: del self.forms[next(iter(self.forms))]
        return lambda ends: Guide(made.grammar, made.rule, self.vocabulary, ends, after)

    @property
    def names(self): return [self.name] + [f'{self.name}-embeddings'] * (self.encoder is not None)


# ---- at the door
def is_local(host):
    "Whether a host means this computer."
    try: return host == 'localhost' or ip_address(host.strip('[]')).is_loopback
    except ValueError: return False


def host_in(value):
    "The host of a Host or Origin header, without scheme and port."
    name = value.rpartition('//')[2]
    return name[:name.find(']') + 1] if name.startswith('[') else name.partition(':')[0]


class Door:
    "Who may come in: with the key, and not by way of a page of somebody else's that runs in a browser here."
    def __init__(self, app, key, local):
        self.app, self.local, self.key = app, local, key and sha256(key.encode()).digest()

    async def __call__(self, scope, receive, send):
        if scope['type'] != 'http': return await self.app(scope, receive, send)
        heads = {k: v.decode('latin-1') for k, v in scope['headers']}
        if (said := self.objection(scope['path'], heads)) is not None:
            return await said(scope, receive, send)
        await self.app(scope, receive, send)

    def objection(self, path, heads):
        "The answer to someone who may not come in, or None."
        if sum(len(k) + len(v) for k, v in heads.items()) > HEADERS:
            return JSONResponse(error_of('the head is too long'), 431)
        host = host_in(heads.get(b'host', ''))
        origin = heads.get(b'origin')
        if self.local and not is_local(host):
            return JSONResponse(error_of('this server answers to this computer alone', code='forbidden_host'), 403)
        if origin and host_in(origin) not in (host, ''):
            said = f'pages of {brief(host_in(origin))} may not ask this server'
            return JSONResponse(error_of(said, code='forbidden_origin'), 403)
        if self.key is None or path in ('/', '/health'): return None
        shown = heads.get(b'authorization', '').removeprefix('Bearer ').encode('latin-1')
        if hmac.compare_digest(sha256(shown).digest(), self.key): return None
        said = error_of('the key is missing or wrong: Authorization: Bearer KEY', code='invalid_api_key')
        return JSONResponse(said, 401, {'www-authenticate': 'Bearer'})


async def read_body(request):
    "The JSON of a request, if it is not too long and comes in time."
    size = request.headers.get('content-length', '0')
    if size.isdigit() and int(size) > BODY: raise too_long()
    data = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                data += part
                if len(data) > BODY: raise too_long()
    except TimeoutError: raise refuse('the body did not come', status=408) from None
    except ClientDisconnect: raise refuse('the body broke off') from None
    try: return value_of(data.decode('utf-8-sig'))
    except ValueError as e:
        raise refuse(f'the body is no JSON: {e}', help='{"model": "..."}') from None


def too_long(): return refuse(f'the body is longer than {BODY:,} bytes', status=413, help='a shorter conversation')


# ---- an answer
class Hearing:
    "What the jobs of a request say, for whoever waits on the loop."
    def __init__(self, asked):
        self.loop, self.queue, self.open, self.first = asyncio.get_running_loop(), asyncio.Queue(), len(asked.jobs), []
        for choice in asked.choices: choice.job.hear = self.ear(choice)

    def ear(self, choice):
        "Called in the scheduler's thread."
        def hear(step):
            try: self.loop.call_soon_threadsafe(self.queue.put_nowait, (choice, step, choice.job.made.finish))
            except RuntimeError: choice.job.leave()      # the loop has ended
        return hear

    async def next(self):
        choice, step, finish = await self.queue.get()
        if isinstance(step, (QueueFull, OptionError, SchemaError)): raise step
        if isinstance(step, Exception): raise refuse(f'the model failed: {brief(str(step), 200)}', status=500) from step
        return choice, step, finish

    async def begun(self):
        "Wait for the first token: an error before it is told by the status."
        self.first.append(await self.next())

    async def __aiter__(self):
        "(choice, step, finish) until all are over."
        while self.open:
            choice, step, finish = self.first.pop() if self.first else await self.next()
            if step is None: self.open -= 1
            else: yield choice, step, finish


async def chunks_of(asked, heard):
    "The chunks of a stream, as they come."
    for choice in asked.choices:
        if asked.kind == 'chat': yield chunk(asked, choice, dict(role='assistant', content='', refusal=None))
        elif asked.echo: yield chunk(asked, choice, dict(content=prompt_text(asked, choice)))
    async for choice, step, finish in heard:
        for change in choice.take(step, finish): yield chunk(asked, choice, change)
        if finish: yield chunk(asked, choice, finish=choice.finish)
    if asked.counted: yield chunk(asked, None)


def event(value):
    "A server-sent event."
    return f'data: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}\n\n'.encode()


STREAM = [(b'content-type', b'text/event-stream; charset=utf-8'), (b'cache-control', b'no-cache'),
          (b'x-accel-buffering', b'no')]

async def send_stream(send, asked, heard):
    "Send each chunk at once, to a reader who reads."
    async def patient(data, more=True):
        async with asyncio.timeout(PATIENCE): await send(dict(type='http.response.body', body=data, more_body=more))
    await send(dict(type='http.response.start', status=200, headers=STREAM))
    try:
        async for one in chunks_of(asked, heard): await patient(event(one))
        await patient(event('[DONE]'))
    except FucinaError as e:
        kind = 'invalid_request_error' if isinstance(e, (OptionError, SchemaError)) else 'server_error'
        await patient(event(error_of(str(e), kind)))
    await patient(b'', more=False)


class Ask:
    "A request for answers: of chats or completions."
    def __init__(self, read): self.read = read

    async def __call__(self, scope, receive, send):
        serving, body = scope['app'].state.serving, await read_body(Request(scope, receive))
        async with serving.preparing: asked = await asyncio.to_thread(self.read, serving, body)
        heard = Hearing(asked)
        watcher = asyncio.create_task(self.watch(receive, asked))
        try:
            serving.scheduler.submit(*asked.jobs)
            await heard.begun()
            if asked.stream: return await send_stream(send, asked, heard)
            async for choice, step, finish in heard: choice.take(step, finish)
            if asked.left: return
            said = (whole_chat if asked.kind == 'chat' else whole_text)(asked)
            await JSONResponse(said)(scope, receive, send)
        except TimeoutError: pass      # a reader who does not read
        finally:
            watcher.cancel()
            asked.leave()

    async def watch(self, receive, asked):
        "Wait until whoever asked is gone: then nobody waits for the answers."
        while (await receive())['type'] != 'http.disconnect': pass
        asked.leave()


# ---- the other addresses
async def embeddings(request):
    serving = request.app.state.serving
    if serving.encoder is None:
        raise refuse('no encoder is loaded here', status=404, help='fucina serve --embed MODEL', code='model_not_found')
    body = await read_body(request)
    async with serving.preparing: texts, n, points, packed = await asyncio.to_thread(embedded, serving, body)
    form = lambda p: base64.b64encode(p.astype('<f4').tobytes()).decode() if packed else p.tolist()
    data = [dict(object='embedding', index=i, embedding=form(p)) for i, p in enumerate(points)]
    return JSONResponse(dict(object='list', data=data, model=serving.names[-1],
                             usage=dict(prompt_tokens=n, total_tokens=n)))


def embedded(serving, body):
    "(texts, their tokens, their points, whether those are sent packed)"
    texts, packed = read_texts(serving, body)
    encoder = serving.encoder
    n = sum(min(len(encoder.tokenizer.encode(t)), encoder.longest) for t in texts)
    return texts, n, encoder.embed(texts).data, packed


async def models(request):
    return JSONResponse(dict(object='list', data=listed_models(request.app.state.serving)))


async def model(request):
    name = request.path_params['name']
    for found in listed_models(request.app.state.serving):
        if found['id'] == name: return JSONResponse(found)
    raise refuse(f'the model {brief(name)} is not here', 'model', status=404, code='model_not_found')


async def health(request):
    alive = request.app.state.serving.scheduler.alive
    return JSONResponse(dict(status='ok' if alive else 'ended'), 200 if alive else 503)


METRICS = dict(jobs='answers asked for', done='answers that came to their end', left='answers whose reader left',
               failed='answers that failed', read='tokens of prompts that were read',
               reused='tokens of prompts that were in memory', said='tokens of answers')

async def metrics(request):
    "Counters in the text form of Prometheus."
    s = request.app.state.serving.scheduler
    now = dict(waiting=('answers that wait for a seat', len(s.queue)), free=('free seats', len(s.free)),
               busy=('answers that are read or said', len(s.reading) + len(s.speaking)))
    rows = [(f'{n}_total', 'counter', words, s.counts[n]) for n, words in METRICS.items()]
    rows += [(n, 'gauge', *found) for n, found in now.items()]
    return PlainTextResponse(''.join(f'# HELP fucina_{n} {words}\n# TYPE fucina_{n} {kind}\nfucina_{n} {v}\n'
                                     for n, kind, words, v in rows))


async def page(request): return HTMLResponse(files(__package__).joinpath('page.html').read_text('utf-8'), headers=PAGE)

# the page is one file; it talks to nobody but this server
PAGE = {'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                                   "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                                   "frame-ancestors 'none'", 'x-content-type-options': 'nosniff'}


# ---- errors
async def on_fault(request, e):
    "What the library refuses, in OpenAI's shape."
    if isinstance(e, QueueFull): said, status = error_of(str(e), 'server_error', code='overloaded'), 503
    else:
        status = getattr(e, 'status', 400)
        kind = 'invalid_request_error' if status < 500 else 'server_error'
        said = error_of(str(e), kind, getattr(e, 'param', None), getattr(e, 'code', None))
    return JSONResponse(said, status, {'retry-after': '1'} if status == 503 else None)


async def on_http(request, e):
    words = {404: f'there is nothing at {request.url.path}', 405: f'{request.url.path} does not take {request.method}'}
    return JSONResponse(error_of(words.get(e.status_code, e.detail)), e.status_code, e.headers)


async def on_bug(request, e): return JSONResponse(error_of(f'this went wrong: {type(e).__name__}', 'server_error'), 500)


def app_of(serving,    # what is served
           local=True, # whether it listens to this computer alone
          ):
    "The ASGI application."
    @asynccontextmanager
    async def life(app):
        serving.scheduler.start()
        yield
        await asyncio.to_thread(serving.scheduler.close)
    post, get = dict(methods=['POST']), dict(methods=['GET'])
    routes = [Route('/v1/chat/completions', Ask(read_chat), **post),
              Route('/v1/completions', Ask(read_completion), **post),
              Route('/v1/embeddings', embeddings, **post), Route('/v1/models', models, **get),
              Route('/v1/models/{name:path}', model, **get), Route('/health', health, **get),
              Route('/metrics', metrics, **get), Route('/', page, **get)]
    handlers = {FucinaError: on_fault, HTTPException: on_http, Exception: on_bug}
    app = Starlette(routes=routes, lifespan=life, exception_handlers=handlers)
    app.state.serving = serving
    app.add_middleware(Door, key=serving.key, local=local)
    return app


# ---- the process
class Connection(H11Protocol):
    "A connection that is closed where a head does not come, or does not end."
    late = None

    def connection_made(self, transport):
        super().connection_made(transport)
        self.wait()

    def data_received(self, data):
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE: self.rest()
        elif self.late is None: self.wait()

    def connection_lost(self, exc):
        self.rest()
        super().connection_lost(exc)

    def wait(self): self.late = self.loop.call_later(HEAD, self.transport.close)

    def rest(self):
        if self.late is not None: self.late.cancel()
        self.late = None


class Server(uvicorn.Server):
    "Ends at SIGTERM or Ctrl-C with code 0: answers may go on for GRACE seconds; a second signal ends them at once."
    def __init__(self, serving, sock):
        self.serving, self.sock, host = serving, sock, sock.getsockname()[0]
        super().__init__(uvicorn.Config(
            app_of(serving, is_local(host)), http=Connection, ws='none', lifespan='on', log_level='warning',
            access_log=False, server_header=False, h11_max_incomplete_event_size=HEADERS,
            timeout_graceful_shutdown=GRACE + 5))

    @contextmanager
    def capture_signals(self):
        if threading.current_thread() is not threading.main_thread(): return (yield)
        before = {s: signal.signal(s, self.handle_exit) for s in (signal.SIGINT, signal.SIGTERM)}
        try: yield
        finally:
            for s, handler in before.items(): signal.signal(s, handler)

    def handle_exit(self, sig=None, frame=None):
        wait, self.should_exit = 0 if self.should_exit else GRACE, True
        timer = threading.Timer(wait, self.serving.scheduler.close)
        timer.daemon = True
        timer.start()

    def serve_here(self): self.run(sockets=[self.sock])


def listen(host, port, key):
    "The socket to serve at; one that others can reach only with a key."
    if key is not None and not key.strip():
        raise fault(OptionError, 'the key is empty', 'a key that nobody guesses, or none at all')
    if not is_local(host) and key is None:
        raise fault(OptionError, f'{host} can be reached by others, and there is no key',
                    'fucina serve --api-key KEY, or FUCINA_API_KEY')
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    try: return socket.create_server((host.strip('[]'), port), family=family)
    except OSError as e:
        head = f'nothing can be served at {host}:{port}: {e.strerror}'
        raise fault(OptionError, head, '--port 0 takes a free one') from e
