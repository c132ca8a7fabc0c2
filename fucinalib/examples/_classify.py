"""The loop that most examples share: a step for each batch of each epoch, and a count of right answers."""
from ..train.learner import measuring

__all__ = ['train', 'answers', 'right']


def train(model,      # scores for each class along 'class'
          data,       # a data set with columns x and y
          opt,        # an optimizer of the model's parameters
          epochs,     # rounds over the data
          size,       # rows in a batch; a smaller last one is left out
          seed=0,     # of the order
          say=None,   # called with (epoch, mean loss) now and then
         )->list:
    "Train by cross entropy; the mean loss of each epoch."
    losses, every = [], max(1, epochs // 10)
    for epoch in range(epochs):
        steps = []
        for x, y in data.batches(data.axis, size, seed=seed, epoch=epoch, partial=False):
            loss = model(x).cross_entropy('class', y)
            loss.backward()
            opt.step()
            opt.zero_grad()
            steps.append(loss.item())
        losses.append(sum(steps) / len(steps))
        if say and (epoch % every == every - 1 or epoch == epochs - 1): say(epoch + 1, losses[-1])
    return losses


def answers(model, x):
    "The class with the largest score."
    with measuring(model): return model(x).argmax('class').numpy()


def right(model, data):
    "How many rows get their own class."
    return int((answers(model, data.x) == data.y.numpy()).sum())
