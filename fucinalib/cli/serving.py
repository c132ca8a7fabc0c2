"""`fucina serve`: a model for other programs on this computer, in OpenAI's protocol."""
from pathlib import Path
import click
from . import answering, say
from .answering import MODEL, loading, options
from .group import fucina

__all__ = ['serve']


@fucina.command()
@options(MODEL)
@click.option('--host', default='127.0.0.1', show_default=True,
              help='Where to listen; beyond this computer with a key.')
@click.option('--port', type=click.IntRange(0, 65535), default=8080, show_default=True, help='0 takes a free one.')
@click.option('--name', help="What clients call the model; the file's name without it.")
@click.option('--api-key', envvar='FUCINA_API_KEY', help='What clients must show. Better in FUCINA_API_KEY.')
@click.option('--embed', metavar='MODEL', help='An encoder, for /v1/embeddings.')
@click.option('--seats', type=click.IntRange(1, 256), default=8, show_default=True, help='Answers made at once.')
@click.option('--queue', type=click.IntRange(0), default=64, show_default=True, help='Answers that may wait besides.')
@click.option('-n', '--max-new', type=click.IntRange(1), default=512, show_default=True,
              help='Tokens of an answer at most, where a request does not say.')
@click.option('--think', is_flag=True, help='Let it think aloud first, if it can.')
def serve(model, threads, host, port, name, api_key, embed, seats, queue, max_new, think, **given):
    """Serve a model to other programs.

    They talk to it as to OpenAI: base_url http://127.0.0.1:8080/v1. A page to chat with is at /. Ctrl-C ends.
    """
    from ..serve.http import Server, Serving, listen
    sock = listen(host, port, api_key)      # before the model, which takes longer
    loaded, seconds = answering.open_model(model, threads, **loading(given))
    serving = Serving(loaded, name or name_for(model), encoder=open_encoder(embed), key=api_key, most=max_new,
                      think=think, seats=seats, queue=queue)
    at = sock.getsockname()
    host = f'[{at[0]}]' if ':' in at[0] else at[0]
    say.note(f'{serving.name} at http://{host}:{at[1]}/v1 · loaded in {seconds:.2f} s')
    Server(serving, sock).serve_here()
    say.note('ended')


def name_for(model):
    "A short name of a path or of a model of the hub."
    from ..llm import hub
    return Path(model or hub.DEFAULT).name.removesuffix('.gguf') or 'fucina'


def open_encoder(name):
    from ..llm import Encoder
    return Encoder.load(name) if name else None
