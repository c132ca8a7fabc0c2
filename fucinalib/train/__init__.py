"""Training: checkpoints, the loop with what belongs to it, and models that train themselves."""
from .checkpoints import (Checkpoint, Checkpoints, load_params, load_weights, read_checkpoint, restore_checkpoint,
                          resume, save_checkpoint, save_params, save_weights)
from .curves import History
from .learner import Average, Callback, EarlyStop, KeepBest, Learner
from .measures import Confusion, r2, roc_auc, top_k_accuracy
from .sequential import AvgPool2D, Conv2D, Dense, MaxPool2D, Planned, Sequential
from ..elsewhere import ACCURACY as _ACCURACY, BATCHES as _BATCHES, HALVES as _HALVES, LOADS as _LOADS
from ..elsewhere import SAVES as _SAVES, SCHEDULES as _SCHEDULES, STEPS as _STEPS, of_package as _of_package

_LEARNER = 'fl.train.Learner(model, optimizer, step).fit(batches, epochs)'
_ELSEWHERE = _SCHEDULES | dict(
    dict.fromkeys('Trainer fit train Model TrainingArguments'.split(), _LEARNER),
    **dict.fromkeys('save save_file save_model'.split(), _SAVES),
    **dict.fromkeys('load load_file load_model'.split(), _LOADS),
    **dict.fromkeys('amp autocast GradScaler'.split(), _HALVES),
    **dict.fromkeys('accuracy Accuracy binary_accuracy'.split(), _ACCURACY),
    **dict.fromkeys('DataLoader TensorDataset batches'.split(), _BATCHES),
    **dict.fromkeys('SGD Adam AdamW optimizer'.split(), _STEPS),
    **dict.fromkeys('AverageMeter Mean'.split(), 'fl.train.Average()'),
    **dict.fromkeys('EarlyStopping early_stopping'.split(), 'fl.train.EarlyStop(patience=5)'),
    **dict.fromkeys('ModelCheckpoint CheckpointCallback'.split(), 'fl.train.Checkpoints(path)'),
    **dict.fromkeys('SaveParams SaveParamsFile'.split(), 'fl.train.save_params(path, model)'),
    **dict.fromkeys('LoadParams LoadParamsFile'.split(), 'fl.train.load_params(path, model)'),
    load_checkpoint='fl.train.restore_checkpoint(path, model=model), or fl.train.resume(learner, path)',
    Flatten="the word 'flatten': model.add('flatten')", BatchNorm="the word 'batch_norm'", ReLU="the word 'relu'",
    BatchNormalization="the word 'batch_norm'", Dropout='fl.nn.Dropout(.5)', Linear="Dense('hidden=64')",
    Embedding="fl.nn.Embedding('word=1000', 'embed=64')", Activation="the word 'relu': model.add('relu')",
    accuracy_score='fl.train.Confusion(classes).add(predicted, labels).accuracy()', r2_score='fl.train.r2',
    **dict.fromkeys('f1_score precision_score recall_score confusion_matrix'.split(),
                    'fl.train.Confusion(classes).add(predicted, labels)'), roc_auc_score='fl.train.roc_auc',
    BestModel='fl.train.KeepBest()', SaveBest='fl.train.KeepBest()', evaluate='learner.evaluate(batches)')


def __getattr__(name): raise _of_package('fl.train', name, globals(), _ELSEWHERE)
