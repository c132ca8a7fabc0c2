"""A tiny GPT that knows one text by heart learns another beside it, and forgets nothing: LoRA."""
import fucinalib as fl
from .. import lora
from ._letters import Letters
from ._settings import settings
from .tinygpt import TEXT, TinyGPT, train

# from Alice's Adventures in Wonderland by Lewis Carroll (1865), in the public domain
POEM = '''"You are old, Father William," the young man said,
"And your hair has become very white;
And yet you incessantly stand on your head -
Do you think, at your age, it is right?"

"In my youth," Father William replied to his son,
"I feared it might injure the brain;
But, now that I'm perfectly sure I have none,
Why, I do it again and again."

"You are old," said the youth, "as I mentioned before,
And have grown most uncommonly fat;
Yet you turned a back-somersault in at the door -
Pray, what is the reason of that?"

"In my youth," said the sage, as he shook his grey locks,
"I kept all my limbs very supple
By the use of this ointment - one shilling the box -
Allow me to sell you a couple?"
'''


def known(steps=1000, seed=7, say=None, **sizes):
    "A tiny GPT for the letters of both texts that has read the first."
    model = TinyGPT(Letters(TEXT + POEM), seed=seed, **sizes)
    train(model, TEXT, steps, seed=seed, say=say)
    return model


def loss_of(model, text):
    "The mean loss of a model over all pieces of a text."
    pieces = fl.data.windows(model.letters.numbers(text), model.length)
    with fl.no_grad(): return model(pieces.x).cross_entropy('char', pieces.y).item()


def learn_beside(model, text=POEM, rank=8, steps=400, lr=.01, seed=7, say=None):
    "Thin matrices beside the maps of the blocks learn `text`; everything else stays. Returns the model."
    lora.add_lora(model, 'blocks.*', rank=rank, alpha=2. * rank, seed=seed)
    train(model, text, steps, lr=lr, seed=seed, say=say)
    return model


def main(args=None):
    o = settings('lora', __doc__, args, model=(64, 'numbers of a letter'), heads=(4, 'of each attention'),
                 blocks=(2, 'one after the other'), length=(32, 'letters in a piece'), rank=(8, 'of the thin matrices'),
                 steps=(1000, 'on the first text'), more=(400, 'on the second'), n=(200, 'letters to write'),
                 seed=(7, 'of the first weights, the order and the dice'))
    say = lambda step, loss: print(f'step {step:4}  loss {loss:.4f}')
    model = known(o.steps, o.seed, say, width=o.model, heads=o.heads, blocks=o.blocks, length=o.length)
    size, before = sum(p.numel for p in model.parameters()), (loss_of(model, TEXT), loss_of(model, POEM))
    print(f'{size} numbers; loss {before[0]:.3f} on the first text, {before[1]:.3f} on the second\n')
    learn_beside(model, POEM, o.rank, o.more, seed=o.seed, say=say)
    thin, after = sum(p.numel for p in model.parameters() if p.requires_grad), loss_of(model, POEM)
    print(f'{thin} numbers more; loss {after:.3f} on the second text\n')
    text = model.write(POEM[:o.length], o.n, .5, o.seed)
    print(text)
    back = loss_of(lora.drop_lora(model), TEXT)
    print(f'\nwithout them, on the first text: {back:.3f}' + ', as before' * (back == before[0]))
    return dict(before=before, after=after, back=back, size=size, thin=thin, text=text)
