# Written by tools/stubs.py from the registry; run `make export`, do not edit.
"""Docstrings with a line for each parameter, of what is imported when first asked for."""
TEXTS = {
    'data.Batches.of_epoch':
"""The batches of one epoch, from some batch on.

Parameters
----------
epoch
    which one
start
    batches that were used already
""",
    'data.Dataset':
"""Columns that belong together row by row: tensors, arrays or lists with one entry for each sample.

Parameters
----------
x
    the first column: a tensor, or an array of one axis
y
    the second, usually what is to be learnt
more
    none: further columns have names
axis
    name of the rows; None: the first axis of the first tensor, or 'batch'
classes
    names of the classes, in the order of their numbers
columns
    more of them by name
""",
    'data.Dataset.batches':
"""Batches of rows, each a tuple of tensors with the names of the columns: `for x, y in ...`.

Parameters
----------
tag
    name of the rows
size
    rows in a batch
seed
    of the order, another in each epoch; None: as they stand
epoch
    the epoch that comes first
partial
    whether a smaller last batch counts
augment
    function of (row, seed) that gives back a row; needs seed=
workers
    threads that make batches ahead of their use; 0: none
""",
    'data.Dataset.replace':
"""The same rows with these columns changed or added.

Parameters
----------
columns
    by name: tensors, arrays or lists, a row for each of the set
""",
    'data.Dataset.shuffle':
"""The same rows in random order.

Parameters
----------
seed
    a whole number: same seed, same order
""",
    'data.Dataset.split':
"""(training set, test set). Sizes are exact: a share is rounded once, half a row up.

Parameters
----------
test
    share of the rows to keep aside, or how many
seed
    which: random ones; None: the last
by
    name of a column of classes; each is then parted alike
""",
    'data.Dataset.standardize':
"""(the set with this column at mean 0 and deviation 1, the Scale that does it to another set).

Parameters
----------
name
    a column of numbers
""",
    'data.Scale.undo':
"""As it was measured.

Parameters
----------
x
    a tensor at this scale
""",
    'data.fashion_mnist':
"""(60,000, 10,000) pictures of clothing, 28 by 28, ten classes.

Parameters
----------
folder
    of its four files; None: looked for in the usual places
""",
    'data.from_csv':
"""Rows of a CSV file: x with its columns as features, y with the target, classes if it is words.

Parameters
----------
path
    a CSV file, .gz too
target
    the column to be learnt; None: there is none
classes
    of the target: True, False, or names in order; None: as written
options
    header=, delimiter=: see read_csv
""",
    'data.from_folder':
"""The pictures in the folders of a folder, whose names are the classes.

Parameters
----------
folder
    one folder for each class
size
    (height, width) to bring all to; None: they have one size
gray
    one channel instead of three
""",
    'data.mnist':
"""(60,000, 10,000) handwritten digits, 28 by 28; or (8,000, 2,000) where the small set is found.

Parameters
----------
folder
    of its four files, or of the ten of the small set; None: the usual places
""",
    'data.prefetch':
"""The values of `source`, taken from it ahead on one thread.

Parameters
----------
source
    anything to iterate over
depth
    values that may be ready
""",
    'data.read_csv':
"""Column name -> array: i64 or f32 where every cell is a number, else words. FileError, DTypeError.

Parameters
----------
path
    a text file of rows; .gz is read too
header
    whether the first row names the columns
delimiter
    what stands between two cells
""",
    'data.windows':
"""Every piece of `length` tokens as x, and as y what comes next after each of its tokens.

Parameters
----------
tokens
    whole numbers: a list, an array or a tensor of one axis
length
    tokens in a piece
step
    from the beginning of one piece to that of the next
axis
    name of the axis of pieces
tag
    name of the axis along a piece
""",
    'data.write_idx':
"""Write an array as an IDX file.

Parameters
----------
path
    compressed if it ends in .gz
array
    an array of u8, i8, i16, i32, f32 or f64
""",
    'evolution.Evolution':
"""Evolution strategies: parameters learn from rewards alone.

Parameters
----------
params
    a module, or a list of tensors
sigma
    standard deviation of the noise
alpha
    how far to go; None: sigma / 2
population
    members of a generation
seed
    of all noise
antithetic
    members in pairs of opposite noise
ranks
    score by centered ranks instead of z-scores
snapshot
    put parameters back from a copy, bit for bit
decay
    of the way back to where they began, after each generation
norm
    decay by a share of the way; 'l1': by a fixed step
flips
    share of the weights in blocks that a member turns
moves
    share that may move in a generation
cooling
    `moves` is over 1 + cooling times the generation
""",
    'evolution.Generations.step':
"""One generation. Returns the mean, the best and all rewards of its members.

Parameters
----------
reward
    a function without arguments that tells how well the model does now
""",
    'evolution.genome':
"""A weight of -1, 0 and 1 times its mean magnitude, in blocks of tq2_0; a copy.

Parameters
----------
w
    real numbers, the last axis a multiple of 256 long
""",
    'files.Safetensors':
"""Tensors in the form safetensors: of a file, of all files that an index names, or of the folder of either.

Parameters
----------
path
    'model.safetensors', 'model.safetensors.index.json', a folder, or an open file
""",
    'files.describe':
"""The tensors of a model file with their kinds, sizes and bytes. Only its header is read.

Parameters
----------
path
    a .gguf or .safetensors file, an index, or a folder
""",
    'files.write_gguf':
"""Write a GGUF file, at once: whoever looks finds the old file or the new one, whole.

Parameters
----------
path
    directories above it are made
metadata
    key -> value; those of a file keep their types
tensors
    name -> tensor, block tensor or array; or a file
version
    2 or 3
""",
    'knn.Classifier':
"""The k nearest neighbours vote. Exact; equal distances go by row, equal votes to the lowest class.

Parameters
----------
k
    neighbours that vote
""",
    'knn.Classifier.predict':
"""The class of each point.

Parameters
----------
x
    points: see neighbours
""",
    'knn.Classifier.score':
"""The share of points whose class is predicted.

Parameters
----------
x
    points: see neighbours
y
    the class of each
""",
    'knn.Kept.fit':
"""Keep rows and classes; returns itself.

Parameters
----------
x
    rows along the first axis; all other axes together are a point
y
    a whole number for each row, its class
""",
    'knn.Store.neighbours':
"""The numbers and distances of the k nearest rows, the nearest first; equal distances by row.

Parameters
----------
x
    points, with the axes of those that were kept and at most one more
""",
    'knn.Voters.votes':
"""How many of the k nearest rows are of each class, along 'class' in the order of `classes`.

Parameters
----------
x
    points: see neighbours
""",
    'llm.Chat':
"""Talk with a model: `for piece in chat.stream('hello'): print(piece, end='')`.

Parameters
----------
model
    of fl.llm.load
system
    who it is to be; None: what its template says; '': nothing
think
    whether it may think aloud first, where the model can
template
    another chat template than the model's: its text
tools
    descriptions of functions it may call
max_new
    tokens of an answer at most; None: as many as the context holds
options
    of fl.llm.generate: temperature, top_p, seed, ...
""",
    'llm.Chat.reply':
"""The answer in pieces, like that of `stream`.

Parameters
----------
messages
    what follows in the conversation: results of tools, say
options
    of fl.llm.generate, for this answer
""",
    'llm.Chat.restore':
"""Go on from a conversation; the cache keeps what it begins with.

Parameters
----------
messages
    of OpenAI; a first one of the system is the new system text
""",
    'llm.Chat.stream':
"""The answer in pieces, as they come. Leaving the loop keeps what was said until then.

Parameters
----------
text
    what you say
options
    of fl.llm.generate, for this answer
""",
    'llm.Context':
"""What a model has read, and its cache.

Parameters
----------
model
    of the contract: model(ids, cache=, last=)
capacity
    tokens at most; None: it grows
dtype
    of keys and values: 'f32', 'f16' or 'q8_0'
chunk
    tokens of a prompt that are read at once
""",
    'llm.Encoder.embed':
"""The point of each text.

Parameters
----------
texts
    a list of texts, or one
batch
    read at once
""",
    'llm.ExpertStore':
"""Experts of a model in files, a few of them in memory. Add all layers, then `finalize`.

Parameters
----------
memory
    bytes that experts may take
pin
    share of them for what is pinned, if a usage file says what
workers
    threads that read; 0: the caller alone
least
    words in the usage file from which it is believed
uncached
    tell the system not to keep what was read
prefer
    (sacred, window): choose experts that are there, see cache_route_top_k
""",
    'llm.Model':
"""A decoder: ids in, for each the logits of the word that follows.

Parameters
----------
config
    a Config
tensors
    name -> tensor, as `tensors_of(config)` lists them
tokenizer
    of its text, or a function that makes it when asked
template
    of chats, likewise
""",
    'llm.Model.forward':
"""Logits of the word that follows each.

Parameters
----------
ids
    whole numbers 'seq' or 'batch seq'
cache
    of model.cache(): the words follow what it holds, and join it
last
    only the last word's logits
""",
    'llm.Sampling':
"""How tokens are chosen.

Parameters
----------
temperature
    0: the likeliest token, else what logits are divided by
top_k
    keep so many of the likeliest; 0: all
top_p
    keep the fewest likeliest whose shares reach this; 1: all
min_p
    keep those with this part of the best one's share; 0: all
repetition_penalty
    of tokens in prompt and answer, as in transformers; 1: none
presence_penalty
    of tokens in the answer, as at OpenAI; 0: none
frequency_penalty
    of each time they are there; 0: none
last_n
    llama.cpp's rule: all three count the last so many tokens
logit_bias
    token -> what is added to its logit; -inf forbids it
seed
    same seed, same answer; None: the next one of the process
""",
    'llm.Template':
"""A chat template: called with messages, it gives the text that the model continues.

Parameters
----------
source
    the template, as `source_of` finds it
special
    what it may name: {'bos_token': '<s>', 'eos_token': '</s>', ...}
""",
    'llm.balance_loss':
"""1 where all experts are used alike, their number where all goes to one.

Parameters
----------
scores
    of a router: 'seq expert', or other axes in front of the last
selected
    whole numbers: which experts were chosen
""",
    'llm.beam_search':
"""Likely answers, the best first.

Parameters
----------
model
    as for generate
prompt
    ids, or a text
beams
    texts that are kept
max_new
    tokens at most
length_penalty
    scores are logprob / length ** this
ignore_eos
    go on where the model would end
""",
    'llm.bytes_of_word':
"""How much memory the weights take, and how much of it is read for a word.

Parameters
----------
model
    a decoder
""",
    'llm.generate':
"""An answer, step by step: for step in generate(model, 'Once'): print(step.text, end='').

Parameters
----------
model
    Model of `load`, or any that keeps its contract
prompt
    ids, or a text
max_new
    tokens at most; None: until the context is full
stop
    strings and ids that end the answer; a string, or a list
ignore_eos
    go on where the model would end
logprobs
    tell so many of the likeliest tokens at each step
context
    Context of earlier calls: what it has read already is not read again
draft
    a small model of the same vocabulary that guesses ahead
propose
    tokens it guesses at a time
sampling
    temperature, top_k, ...: the options of Sampling
""",
    'llm.load':
"""A language model from its files. The weights stay where they are, in memory that is mapped.

Parameters
----------
path
    a folder with config.json and safetensors, one .gguf, or a name that fl.llm.hub.find knows
ignore
    entries of the configuration that may be there and change nothing
activation
    in products with blocks: 'f32', x as it is, or 'q8', rounded to 8 bits
widen
    weights of 16 bits become f32 once; False: for each product, in half the memory
quant
    what weights of floats are rounded to, one of QUANTS: 'q8_0', 'q4_0', ..., 'int8', 'int4'
requant
    whether weights that are in other blocks are rounded to them, too
budget
    bytes of floats that are on the way at a time
keep
    whether the layout of a decoder's step is kept beside the caches, for the next time
""",
    'llm.routes_of':
"""Which experts each word goes to, and how much each of them says.

Parameters
----------
model
    a decoder
ids
    whole numbers 'seq'
""",
    'llm.score':
"""How likely each of some continuations is. Longer ones are less likely by nature.

Parameters
----------
model
    as for generate
prompt
    ids, or a text
options
    texts or lists of ids that may come next
context
    Context of earlier calls
""",
    'llm.stream_experts':
"""Leave a model's experts in its file, but for so many bytes. Returns the store.

Parameters
----------
model
    of a GGUF file, with experts
memory
    bytes that its experts may take
ahead
    read ahead what the next layer's router would choose now
options
    of ExpertStore
""",
    'llm.token_logprobs':
"""ln of the share of each token but the first, given those before it in its window.

Parameters
----------
model
    as for generate
ids
    ids, or a text
window
    tokens a model sees at once; None: as many as it can
stride
    tokens from one window to the next; None: half a window
""",
    'lora.LoRA':
"""y = base(x) + alpha / rank times dropout(x) through A and B. These learn, the base does not.

Parameters
----------
base
    a Linear layer; it is frozen
rank
    size of the axis lora_r
alpha
    the change counts alpha / rank
dropout
    share of x that the change does not see while training
seed
    of A; None: the next one of the process
""",
    'lora.add_lora':
"""Put a LoRA around layers of a model. Returns the model.

Parameters
----------
model
    a module; it is frozen, but for what is added
where
    paths of its Linear layers, with * for anything: '*.q *.v'
rank
    of each
alpha
    the change counts alpha / rank
dropout
    share of the input that the change does not see while training
seed
    same seed, same first values, by path
""",
    'nn.AvgPool2d':
"""The mean of each window over pictures; zeros beyond the border do not count.

Parameters
----------
kernel
    2; (2, 3), rows and columns of 'h w c'; or named, 'h=2 w=2'
stride
    steps from window to window; the size of the window by default
padding
    rows and columns beyond each side that windows may reach
""",
    'nn.BatchNorm':
"""Each channel brought to mean 0 and variance 1 over all other axes; in use, by running averages.

Parameters
----------
channels
    the axis that is kept apart: 'channel=8'
eps
    added to the variance
momentum
    share of the new value in the averages; None: all batches alike
affine
    whether there are a weight and a bias
""",
    'nn.Conv1d':
"""A window along time: every output channel compares what it sees with weights of its own. A causal
layer also takes the `state`, the dilation * (taps - 1) values before x.

Parameters
----------
inside
    channels that come in: 'channel=3'
outside
    channels that go out: 'feature=16'
kernel
    taps: 3, along the axis before the channels; or 'time=3'
stride
    steps from window to window
padding
    zeros at both ends
dilation
    how far the taps are apart
groups
    each output sees the channels of one group
causal
    windows end at the present
bias
    whether each output channel has an offset
""",
    'nn.Conv2d':
"""A window over pictures: every output channel compares what it sees with weights of its own.

Parameters
----------
inside
    channels that come in: 'channel=3'
outside
    channels that go out: 'feature=16'
kernel
    3; rows and columns (3, 5); or with the names of their axes, 'h=3 w=5'
stride
    steps from window to window: down and across, or one number for both
padding
    rows and columns of zeros on each side, likewise
groups
    each output sees the channels of one group
bias
    whether each output channel has an offset
relu
    cut at zero
""",
    'nn.ConvTranspose1d':
"""Every value spread over a window along time; overlaps add up.

Parameters
----------
inside
    channels that come in: 'feature=16'
outside
    channels that go out: 'channel=3'
kernel
    taps: 4, along the axis before the channels; or 'time=4'
stride
    how far neighbouring windows are apart
padding
    values cut off at both ends
output_pad
    of those, how many come back at the end
bias
    whether each output channel has an offset
""",
    'nn.ConvTranspose2d':
"""Every pixel spread over a window of a larger picture; overlaps add up.

Parameters
----------
inside
    channels that come in: 'feature=16'
outside
    channels that go out: 'channel=3'
kernel
    4; rows and columns (4, 2); or with the names of their axes, 'h=4 w=2'
stride
    how far neighbouring windows are apart: down and across, or one number
padding
    rows and columns cut off at each side, likewise
output_pad
    of those, how many come back at the end, likewise
bias
    whether each output channel has an offset
""",
    'nn.DecoderBlock':
"""A block that also looks at another sequence: block(x, memory).

Parameters
----------
embed
    the axis of a word's numbers: 'embed=64'
heads
    of both attentions
hidden
    the axis inside the feed-forward: 'ff=256'
memory
    the axis of the other sequence's numbers; None: like embed
seed
    of the first weights
block
    options of TransformerBlock
""",
    'nn.Dropout':
"""While training, zero each number with probability p and divide the rest by 1 - p; in use, nothing.

Parameters
----------
p
    share that is dropped, 0 <= p < 1
""",
    'nn.Embedding':
"""A table with a row for each word; a call looks the rows up. A word that occurs twice learns twice.

Parameters
----------
words
    the axis of the table that is looked up, and its size: 'word=1000'
outputs
    axes of a row: 'embed=64'
init
    first values: of the standard normal distribution
seed
    same seed, same values; None: the next one of the process
dtype
    a real number type
""",
    'nn.FeedForward':
"""Wider, bent, and back, each word by itself.

Parameters
----------
embed
    the axis of a word's numbers: 'embed=64'
hidden
    a wider one: 'ff=256'
act
    what bends: 'gelu', 'relu', 'silu', or 'swiglu', which has a gate
bias
    of the maps
seed
    of the first weights
""",
    'nn.Flatten':
"""Several axes as one, in the order that is named, however they lie in x.

Parameters
----------
axes
    that become one: 'channel row col'
out
    its name: 'pixel'
""",
    'nn.GRU':
"""Gated recurrent units along an axis: y, h = nn.GRU('read=3', 'hidden=4', over='t')(x).

Parameters
----------
read
    axes of one entry: 'letter=53', or several
hidden
    axes of a state: 'hidden=96'
over
    the axis of time
layers
    cells one after the other
bidirectional
    a second cell for each layer, which begins at the end
seed
    of the first weights
dropout
    share of what the next layer reads that is left out in training
recurrent_dropout
    share of the state's weights, for a sequence as a whole
options
    of the cell: bias, dtype, of an LSTM forget_bias
""",
    'nn.GRUCell':
"""Gated recurrent unit: h = cell(x, h). The reset gate acts after the product, as in torch.

Parameters
----------
read
    axes that are summed over: 'letter=53', or several
hidden
    axes of the state: 'hidden=96'
bias
    whether a number is added to each sum, and one to what is reset
seed
    of the first weights
""",
    'nn.GroupNorm':
"""Each group of channels brought to mean 0 and variance 1 over places, times a weight plus a bias.

Parameters
----------
channels
    the axis that is divided: 'channel=8'
groups
    into how many groups of neighbours
over
    axes of the places that belong together: 'h w'
eps
    added to the variance
weight
    whether each channel has a factor
bias
    whether each channel has an offset
""",
    'nn.LSTM':
"""Long short-term memory along an axis: y, (h, c) = nn.LSTM('read=3', 'hidden=4', over='t')(x).

Parameters
----------
read
    axes of one entry: 'letter=53', or several
hidden
    axes of a state: 'hidden=96'
over
    the axis of time
layers
    cells one after the other
bidirectional
    a second cell for each layer, which begins at the end
seed
    of the first weights
dropout
    share of what the next layer reads that is left out in training
recurrent_dropout
    share of the state's weights, for a sequence as a whole
options
    of the cell: bias, dtype, of an LSTM forget_bias
""",
    'nn.LSTMCell':
"""Long short-term memory: h, c = cell(x, (h, c)). The forget gate begins at `forget_bias`.

Parameters
----------
read
    axes that are summed over: 'letter=53', or several
hidden
    axes of both states: 'hidden=96'
bias
    whether a number is added to each sum
forget_bias
    the first value of that of the forget gate
seed
    of the first weights
""",
    'nn.LayerNorm':
"""Each row brought to mean 0 and variance 1, times a weight plus a bias.

Parameters
----------
axes
    the axes of a row: 'embed=64', or several together, 'h=8 w=8'
eps
    added to the variance
weight
    whether each entry has a factor
bias
    whether each entry has an offset; without a weight there is none
""",
    'nn.Linear':
"""y = x W + b: a weighted sum over the axes `inputs`, one for each place of `outputs`.

Weight: the in-axes, then the out-axes (torch: the other way round).

Parameters
----------
inputs
    axes that are summed over: 'embed=64'
outputs
    axes that are made: 'hidden=256' or 'head=4 d=16'
bias
    add a number to each result
init
    first values of the weight; the bias begins at 0
seed
    same seed, same values; None: the next one of the process
dtype
    a real number type
""",
    'nn.MaxPool2d':
"""The largest value in each window over pictures.

Parameters
----------
kernel
    2; (2, 3), rows and columns of 'h w c'; or named, 'h=2 w=2'
stride
    steps from window to window; the size of the window by default
padding
    rows and columns beyond each side that windows may reach
""",
    'nn.MultiHeadAttention':
"""Attention with learned maps: 'batch seq embed' to the same.

Parameters
----------
embed
    the axis of a word's numbers: 'embed=64'
heads
    how many look side by side
kv_heads
    heads of keys and values, a divisor of heads; None: as many
d
    numbers of a head; None: embed / heads
mask
    a word sees those before it; 'bidirectional': all
window
    how many of the last words each sees; 0: all
bias
    of the maps for queries, keys and values
out_bias
    of the map of the result; None: like bias
rope
    base of rotary positions, 10000.0 say, or a rope_table; None: none
over
    the axis of the words
memory
    the axis of another sequence's numbers: it looks at all of that
seed
    of the first weights
""",
    'nn.RMSNorm':
"""Each row over its root mean square, times a weight.

Parameters
----------
axes
    the axes of a row: 'embed=64', or several together
eps
    added to the mean square; torch without one takes 1.19e-7 in f32
weight
    whether each entry has a factor
""",
    'nn.RNN':
"""Elman's cell along an axis: y, h = nn.RNN('read=3', 'hidden=4', over='t')(x).

Parameters
----------
read
    axes of one entry: 'letter=53', or several
hidden
    axes of a state: 'hidden=96'
over
    the axis of time
layers
    cells one after the other
bidirectional
    a second cell for each layer, which begins at the end
seed
    of the first weights
dropout
    share of what the next layer reads that is left out in training
recurrent_dropout
    share of the state's weights, for a sequence as a whole
options
    of the cell: bias, dtype, of an LSTM forget_bias
""",
    'nn.RNNCell':
"""The next state is tanh of the sum: cell('read=3', 'hidden=4'), then h = cell(x, h).

Parameters
----------
read
    axes that are summed over: 'letter=53', or several
hidden
    axes of the state: 'hidden=96'
bias
    whether a number is added to each sum
seed
    of the first weights, Glorot's for each gate by itself
""",
    'nn.Residual':
"""x + body(x): the body learns what to add.

Parameters
----------
body
    layers, a chain of them if there are several
""",
    'nn.Sequential':
"""A chain: each layer computes from what the one before returned. Functions may stand in it.

Parameters
----------
layers
    modules and functions, or one list or dict of them
""",
    'nn.TransformerBlock':
"""Attention and a feed-forward, each of a normalised copy, added to what came in.

Parameters
----------
embed
    the axis of a word's numbers: 'embed=64'
heads
    of the attention
hidden
    the axis inside the feed-forward: 'ff=256'
act
    what bends it: 'gelu', 'relu', 'silu' or 'swiglu'
norm
    'layer' or 'rms'
dropout
    share of what is added that is left out in training
bias
    of all maps
eps
    of the norms; None for theirs
seed
    of the first weights
attention
    options of MultiHeadAttention: kv_heads, window, rope, ...
""",
    'nn.Unflatten':
"""One axis as several.

Parameters
----------
axis
    that is divided: 'pixel'
outputs
    into these: 'row=8 col=8'
""",
    'nn.Upsample':
"""Every pixel of pictures as a square of `times` x `times`.

Parameters
----------
times
    how often each row and column is repeated: a power of two
axes
    names of rows and columns, 'h w'; None: those before the channels
""",
    'nn.at_step':
"""Around a step of training: what draws random numbers inside, draws them by seed, step and place
in the model, and by nothing that happened before. Each thread says it for itself.

Parameters
----------
seed
    of the run
step
    where it stands: the step, or epoch and batch, whole numbers
""",
    'nn.derived':
"""The seed of these names, a function of `seed` and them. None stays None: next of the process.

Parameters
----------
seed
    a whole number, or None
names
    words or whole numbers
""",
    'nn.from_torch':
"""Read torch's weights: all that the model has, nothing else, and in one go. Returns the model.

Parameters
----------
model
    a module, or a single layer
state
    torch's state dict: key -> array
names
    what is called otherwise, our path -> torch's: {'body.0': 'conv1'}
""",
    'nn.init.derived':
"""The seed of these names, a function of `seed` and them. None stays None: next of the process.

Parameters
----------
seed
    a whole number, or None
names
    words or whole numbers
""",
    'nn.init.glorot_normal':
"""Normal, variance 2 / (fan in + fan out) (Glorot and Bengio 2010).

Parameters
----------
axes
    of the tensor, in its order: 'embed=64 hidden=256'
fan_in
    names of the axes that are summed over; None: all but the last
fan_out
    names of the axes that are made; None: the last
gain
    factor of the standard deviation
seed
    same seed, same values; None: the next one of the process
dtype
    a real number type
""",
    'nn.init.glorot_uniform':
"""Even, variance 2 / (fan in + fan out) (Glorot and Bengio 2010).

Parameters
----------
axes
    of the tensor, in its order: 'embed=64 hidden=256'
fan_in
    names of the axes that are summed over; None: all but the last
fan_out
    names of the axes that are made; None: the last
gain
    factor of the standard deviation
seed
    same seed, same values; None: the next one of the process
dtype
    a real number type
""",
    'nn.init.he_normal':
"""Normal, variance 2 / fan in: for relu, which drops half (He et al. 2015).

Parameters
----------
axes
    of the tensor, in its order: 'embed=64 hidden=256'
fan_in
    names of the axes that are summed over; None: all but the last
fan_out
    names of the axes that are made; None: the last
gain
    factor of the standard deviation
seed
    same seed, same values; None: the next one of the process
dtype
    a real number type
""",
    'nn.init.he_uniform':
"""Even, variance 2 / fan in: for relu, which drops half (He et al. 2015).

Parameters
----------
axes
    of the tensor, in its order: 'embed=64 hidden=256'
fan_in
    names of the axes that are summed over; None: all but the last
fan_out
    names of the axes that are made; None: the last
gain
    factor of the standard deviation
seed
    same seed, same values; None: the next one of the process
dtype
    a real number type
""",
    'nn.init.lecun_normal':
"""Normal, variance 1 / fan in (LeCun et al. 1998).

Parameters
----------
axes
    of the tensor, in its order: 'embed=64 hidden=256'
fan_in
    names of the axes that are summed over; None: all but the last
fan_out
    names of the axes that are made; None: the last
gain
    factor of the standard deviation
seed
    same seed, same values; None: the next one of the process
dtype
    a real number type
""",
    'nn.init.lecun_uniform':
"""Even, variance 1 / fan in (LeCun et al. 1998).

Parameters
----------
axes
    of the tensor, in its order: 'embed=64 hidden=256'
fan_in
    names of the axes that are summed over; None: all but the last
fan_out
    names of the axes that are made; None: the last
gain
    factor of the standard deviation
seed
    same seed, same values; None: the next one of the process
dtype
    a real number type
""",
    'nn.init.read_axes':
"""Size of each axis by name. TagError for what is no name, InvalidShape for what is no size.

Parameters
----------
axes
    'embed=64', 'head=4 d=16', or a dict of sizes
word
    what they are in a call: 'inputs'
""",
    'nn.init.read_fans':
"""(tags, sizes, how many values go into one result, how many results one value goes into).

Parameters
----------
axes
    of the tensor, in its order: 'embed=64 hidden=256'
fan_in
    names of the axes that are summed over; None: all but the last
fan_out
    names of the axes that are made; None: the last
""",
    'nn.summary':
"""Sizes, parameters and bytes of each part of a model, from one call.

Parameters
----------
model
    a module
inputs
    what it is called with: tensors, or sizes as 'batch=32 pixel=64'
kw
    likewise, by name
""",
    'nn.to_torch':
"""The weights as torch keeps them: key -> array, copies.

Parameters
----------
model
    a module, or a single layer
names
    our path -> torch's, as in from_torch
""",
    'optim.Adam':
"""Steps by averages of gradient and square; weight decay is coupled. As torch.optim.Adam.

Parameters
----------
params
    a model, a list of parameters, or of dict(params=..., lr=...)
lr
    learning rate: about how far a weight goes
betas
    what each step keeps of both averages
eps
    added to the corrected root
weight_decay
    times the weight is added to its gradient
""",
    'optim.AdamW':
"""Adam whose weight decay acts on the weight, before the step. As torch.optim.AdamW.

Parameters
----------
params
    a model, a list of parameters, or of dict(params=..., lr=...)
lr
    learning rate: about how far a weight goes
betas
    what each step keeps of both averages
eps
    added to the corrected root
weight_decay
    times lr: the share of the weight that is taken off
""",
    'optim.Apollo':
"""Scales the gradient as Adam would a random shadow of it, whose averages are small.

Parameters
----------
params
    a model, a list of parameters, or of dict(params=..., rows=0)
lr
    learning rate
rank
    rows of the shadow
gap
    steps with one projection
scale
    or 'tensor': one factor for all
factor
    times its root all steps are longer
seed
    of the projections
betas
    what is kept of both averages
eps
    added to the root
weight_decay
    times lr: the share that is taken off after the step
rows
    leading axes that are rows of a matrix; 0: no matrix
""",
    'optim.CompactAdamW':
"""AdamW that keeps its averages in bf16 between steps.

Parameters
----------
params
    a model, a list of parameters, or of dict(params=..., lr=...)
lr
    learning rate
betas
    what each step keeps of both averages
eps
    added to the corrected root
weight_decay
    times lr: the share of the weight that is taken off
second
    True: the average of squares in bf16 as well
""",
    'optim.EMA':
"""Copies of the parameters that follow them: after each step, `update`.

Parameters
----------
params
    a model or a list of parameters
decay
    share of the average that a step keeps
""",
    'optim.Muon':
"""Steps of equal length along all directions of a matrix; what is no matrix is moved by AdamW.

Parameters
----------
params
    a model, a list of parameters, or of dict(params=..., rows=0)
lr
    learning rate of matrices
momentum
    share of the average that is kept
nesterov
    look ahead
iterations
    of the polynomial
weight_decay
    times the rate: the share that is taken off before the step
scale
    rows are outputs, in nn.Linear inputs; or 'rms': as Adam
rows
    leading axes that are rows; 0: no matrix
others
    rate of what is no matrix, as a share of lr
betas
    its averages
eps
    added to its root
""",
    'optim.SGD':
"""Gradient descent with momentum; weight decay is coupled. As torch.optim.SGD.

Parameters
----------
params
    a model, a list of parameters, or of dict(params=..., lr=...)
lr
    learning rate
momentum
    share of the velocity that is kept
dampening
    share of later gradients that the velocity does without
weight_decay
    times the weight is added to its gradient
nesterov
    look ahead: move by gradient + momentum * velocity
""",
    'optim.Schedule':
"""Sets the rates of `opt` to their base times a factor; `step` goes on by one.

Parameters
----------
opt
    an optimizer; each group keeps its own base rate
curve
    function of the step, counted from 0: warmup_cosine, or one of yours
options
    what it takes besides: total=, warmup=, ...
""",
    'optim.TensaiAdam':
"""Adam with one count of steps for all parameters, which each moves on, as tensai has it.

Parameters
----------
params
    a model, a list of parameters, or of dict(params=..., lr=...)
lr
    learning rate: about how far a weight goes
betas
    what each step keeps of both averages
eps
    added to the corrected root
weight_decay
    times the weight is added to its gradient
""",
    'optim.clip_grad_norm':
"""Scale all gradients by max_norm / (norm + 1e-6) if their norm is above it. Gives the norm before.

Parameters
----------
params
    a model, an optimizer, or a list of parameters
max_norm
    the length that all gradients together may have
nonfinite
    'skip' forgets gradients of no finite length, with a warning
""",
    'optim.warmup_cosine':
"""Warm-up, then half a wave of the cosine down to the floor, which it keeps.

Parameters
----------
step
    counted from 0: the factor of the first step is that of step 0
total
    steps until the floor, warm-up included
warmup
    steps of warm-up
min
    the floor, as a share of the base rate
""",
    'quant.keep':
"""Write arrays so that `mapped` finds them, whole or not at all.

Parameters
----------
path
    of the new file
source
    the file that the arrays were made of
arrays
    name -> array
""",
    'quant.own_blocks':
"""The tensor rounded by `round_rows`, in blocks of `int8_row` or `int4_64`.

Parameters
----------
w
    a tensor of floats, whole blocks along its last axis
bits
    8 or 4
""",
    'quant.pack_codes':
"""The kind, bytes (groups, blocks, bytes of a row's block, 32) and the code that means zero.

Parameters
----------
code
    (rows, columns), int8
size
    codes that share a scale: 16, or a multiple of 32
""",
    'quant.pairs_dot':
"""Products added two by two in 16 bits, cut off as the instruction does, without what `zero` added.

Parameters
----------
w
    codes (rows, columns), int8
u
    codes of a row, uint8
zero
    what was added to them
""",
    'quant.quantize':
"""A weight rounded by `round_rows`, with its rows side by side.

Parameters
----------
w
    numbers (rows, columns), whole blocks of 64 a row
bits
    8, with a scale for each row; or 4, with one for each 64 numbers
""",
    'quant.repack':
"""The weight with its rows side by side, the numbers exactly those of its blocks.

Parameters
----------
w
    a weight of two axes, rows first, in blocks
""",
    'quant.round_rows':
"""Codes (rows, groups, size), scales (rows, groups). The largest of a group gets the largest code.

Parameters
----------
w
    numbers (rows, columns)
bits
    of a code
size
    numbers that share a scale; None: a whole row
""",
    'serve.Job':
"""An answer that somebody waits for.

Parameters
----------
made
    a Generation: prompt, options, and what was said so far
hear
    called with each Step; at the end with None, or with an error
owner
    whose it is: seats go round among owners
guide
    of chapter 53a: what may be said
""",
    'serve.QueueFull':
"""A job that would have to wait behind too many others.

Parameters
----------
head
    the fault in one line, without the name of the operation
help
    a fix that runs; `{op}` in it stands for the operation's name
operands
    name -> the words that describe it, see `cells`
op
    the outermost operation the fault passed on its way out
where
    the layer it happened in: 'model.blocks.3.attention'
""",
    'serve.Scheduler':
"""One model, many answers: in a turn one prompt is read on, and each who speaks says a token.

Parameters
----------
model
    of `load`, or any that keeps its contract
seats
    answers that are made at once
queue
    jobs that may wait besides
chunk
    tokens of a prompt that are read in one turn
""",
    'text.Tokenizer':
"""Text to ids and back.

Parameters
----------
model
    makes ids of pieces
tokens
    id -> bytes that it stands for
added
    `Added` tokens
split
    text -> pieces; None: the whole text is one
normal
    (text, whether it begins the whole text) -> text
bos
    id of the token that begins a text
eos
    id of the token that ends one
add_bos
    whether the model wants bos before a prompt
add_eos
    whether it wants eos after a text
strip
    what decoding takes away from the beginning of a text
""",
    'text.Tokenizer.bytes':
"""What the ids stand for, special tokens too, as bytes and unchanged.

Parameters
----------
ids
    whole numbers: a list, an array, a tensor
""",
    'text.Tokenizer.decode':
"""The text of ids. Bytes that are no UTF-8 become U+FFFD.

Parameters
----------
ids
    whole numbers: a list, an array, a tensor
special
    whether control tokens are shown
""",
    'text.Tokenizer.encode':
"""The ids of a text, a list. Without `special` no text makes a special token.

Parameters
----------
text
    a str
special
    whether special tokens in the text count as such
""",
    'text.Tokenizer.id':
"""The id of a token, a special one first.

Parameters
----------
text
    of a token
""",
    'text.Tokenizer.piece':
"""What a token stands for, as text; bytes that are no character are written \\xff.

Parameters
----------
id
    of a token
""",
    'text.Tokenizer.save':
"""Write a tokenizer of byte-level BPE as tokenizer.json, which `tokenizers` reads too.

Parameters
----------
path
    of a tokenizer.json
""",
    'text.Tokenizer.stream':
"""Decodes token by token, never half a character: see `Stream`.

Parameters
----------
special
    whether control tokens are shown
""",
    'text.from_gguf':
"""The tokenizer of a model in a GGUF file, from the file's metadata.

Parameters
----------
metadata
    what a GGUF file says under 'tokenizer.ggml.'
""",
    'train.AvgPool2D':
"""The mean of each window over pictures; zeros beyond the border do not count.

Parameters
----------
size
    rows and columns of a window
stride
    steps from window to window; None: the size
""",
    'train.Checkpoints':
"""Writes a checkpoint of the whole training after each epoch, and within them if asked.

Parameters
----------
path
    a directory
batches
    also after every so many batches
parts
    more that has a state
""",
    'train.Confusion':
"""How often rows of one class were taken for each: counts, to which batches are added.

Parameters
----------
classes
    how many classes, or their names
""",
    'train.Confusion.add':
"""Count some rows. Returns the matrix, so that calls can follow.

Parameters
----------
predicted
    class numbers: a tensor or an array
labels
    the right ones, of the same axes
""",
    'train.Conv2D':
"""A window over pictures that compares each place with weights of its own.

Parameters
----------
makes
    the axis of channels that is made: 'feature=16'
kernel
    rows and columns of the window
""",
    'train.Dense':
"""Weighted sums over the last axis of what comes in; its other axes pass through.

Parameters
----------
makes
    the axis that is made, with its size: 'hidden=64'
activation
    'relu', 'tanh', or a function of a tensor
""",
    'train.Learner':
"""A model that learns from batches by an ordinary step, and can say where it stands.

Parameters
----------
model
    what learns; its layers are told when they are only measured
optimizer
    what moves its parameters
step
    function of a batch that gives the loss, or a dict with it
seed
    of what layers draw: by this, their path and the batch
accumulate
    batches whose gradients make one step
clip
    length that all gradients together may have
ema
    an optim.EMA: follows each step, and is what is measured and kept
schedule
    factor of the learning rate by step: a function, or an optim.Schedule
callbacks
    told of every event; a function is called after each epoch
show
    False: no progress; None: a bar or curves, where somebody watches
""",
    'train.Learner.evaluate':
"""Loss and figures over all batches, weighed by what they count; nothing is learnt.

Parameters
----------
batches
    as for fit
step
    another function than the one that is trained by; it may give no loss
""",
    'train.Learner.fit':
"""Train until so many epochs are done. Called again, or after a resume, it goes on.

Parameters
----------
batches
    data.batches(...), a list, or a function of the epoch; each a tuple of tensors
epochs
    how many in all: those that are done already count
valid
    batches to measure after each epoch, without learning
""",
    'train.MaxPool2D':
"""The largest value in each window over pictures.

Parameters
----------
size
    rows and columns of a window
stride
    steps from window to window; None: the size
""",
    'train.Sequential.add':
"""One more layer at the end. Returns the model.

Parameters
----------
layer
    a plan such as Dense('hidden=64'), a layer of fl.nn, a function, or 'relu'
""",
    'train.Sequential.compile':
"""Make the layers for samples of these sizes. Returns the model.

Parameters
----------
inputs
    axes of a sample, with sizes: 'feature=4', 'h=28 w=28 channel=1'
loss
    a name such as 'cross_entropy', or a function of (given, wanted)
optimizer
    'sgd', 'adam', 'adamw', or a function of parameters
lr
    learning rate, if the optimizer is given by name
metrics
    name -> function of (given, wanted); None: accuracy of classes
seed
    of first values, of what layers draw, of the order of batches
learner
    clip=, schedule=, accumulate=, callbacks=: see Learner
""",
    'train.Sequential.fit':
"""Learn from rows. Returns the History.

Parameters
----------
x
    rows to learn from: an array, or a tensor with the axes of compile
y
    what they should give: class numbers, or arrays of the size that comes out
epochs
    how many more
batch
    rows to a step, in another order each epoch; None: all rows
valid
    (x, y) to measure after each epoch
log
    print every so many epochs; None: nothing
""",
    'train.Sequential.load':
"""Read weights into a model that is compiled with the same layers, all or none. Returns the model.

Parameters
----------
path
    what `save` wrote for such a model; .json: what tensai wrote
""",
    'train.Sequential.save':
"""Write the weights, and what kind each layer is.

Parameters
----------
path
    'model.safetensors'
""",
    'train.load_params':
"""Arrays in their order, from a file; into tensors if they are given.

Parameters
----------
path
    what `save_params` or tensai's SaveParams wrote
params
    a module, or tensors in order, that get the numbers; all of them or none
""",
    'train.load_weights':
"""Name -> array, from a file; into a model if one is given.

Parameters
----------
path
    a file in the format safetensors, of whichever library
model
    a module that gets them, by name; all of them or none
""",
    'train.r2':
"""1 - squared error / squared deviation from the mean of the target.

Parameters
----------
predicted
    numbers
target
    what they should be, of the same axes
""",
    'train.read_checkpoint':
"""All parts of a checkpoint, checked; nothing else is changed.

Parameters
----------
path
    a directory that `save_checkpoint` wrote
""",
    'train.restore_checkpoint':
"""Put a checkpoint into the parts, all or none, and return the state that was saved beside.

Parameters
----------
path
    a directory that `save_checkpoint` wrote
more
    none: parts have names
parts
    model=, optimizer=, ema=: what has a load_state_dict
""",
    'train.resume':
"""Let a training stand where its checkpoint does. False, and nothing happens, if there is none.

Parameters
----------
learner
    made as it was when the checkpoint was written
path
    the directory
parts
    more that was saved
""",
    'train.roc_auc':
"""The chance that a row of the class has a higher score than one that is not, ties half.

Parameters
----------
scores
    numbers, higher for what is of the class
labels
    true or 1 for what is of the class
""",
    'train.save_checkpoint':
"""Write a checkpoint at once: whoever looks finds the old one or the new one, whole.

One file per part, `model.save1.safetensors`, and `trainer_state.json`, which is written last.

Parameters
----------
path
    a directory; made if it is not there
state
    numbers, texts, lists and dicts of them: `dict(step=20)`
more
    none: parts have names
parts
    model=, optimizer=, ema=: what has a state_dict, or such a dict
""",
    'train.save_params':
"""Write arrays without names, in their order, as tensai does: at once, the old file or the new one.

Parameters
----------
path
    `model.json`; directories above it are made
params
    a module, or tensors in order
""",
    'train.save_weights':
"""Write weights to a file, at once: whoever looks finds the old file or the new one, whole.

Parameters
----------
path
    `model.safetensors`; directories above it are made
weights
    a module, or name -> array
""",
    'train.top_k_accuracy':
"""The share of positions whose right class is among the k with the highest scores.

Parameters
----------
scores
    any axes
tag
    that of the classes
labels
    the right class of every other position
k
    among how many
""",
}
