"""Deep Q-learning: a network learns to catch falling balls from nothing but whether it caught them."""

import random
import sys
from collections import deque
from contextlib import suppress
from copy import deepcopy

import retrograd as rg
from retrograd import nn
from retrograd.utils.progress import progress
from retrograd.utils.run_log import RunLog, plot_log

ROWS, COLUMNS, ACTIONS = 6, 5, 3
DISCOUNT, BATCH, KEPT = 0.95, 32, 2000
Moment = tuple[list[float], int, float, list[float], bool]


class Catch:
    """A ball falls row by row; a paddle on the floor moves left, stays or moves right. Caught is 1, missed is -1."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a game

    def reset(self) -> list[float]:
        """A new ball."""
        self.row, self.ball = 0, self.random.randrange(COLUMNS)
        self.paddle = self.random.randrange(COLUMNS)
        return self.view()

    def view(self) -> list[float]:
        """What the player sees: where the ball is, and the paddle."""
        cells = [0.0] * (ROWS + 2 * COLUMNS)
        for place in (self.row, ROWS + self.ball, ROWS + COLUMNS + self.paddle):
            cells[place] = 1.0
        return cells

    def step(self, action: int) -> tuple[list[float], float, bool]:
        """The next view, the reward, and whether the ball is down."""
        self.paddle = min(max(self.paddle + action - 1, 0), COLUMNS - 1)
        self.row += 1
        down = self.row == ROWS - 1
        reward = (1.0 if self.paddle == self.ball else -1.0) if down else 0.0
        return self.view(), reward, down


def best(network: nn.Module, view: list[float]) -> int:
    """The action that promises most."""
    with rg.no_grad():
        return int(network(rg.tensor(view)).argmax())


def mean_return(network: nn.Module, games: int = 100) -> float:
    """What the network earns when it plays its best."""
    game, total = Catch(seed=1), 0.0
    for _ in range(games):
        view, down = game.reset(), False
        while not down:
            view, reward, down = game.step(best(network, view))
            total += reward
    return total / games


def loss_of(network: nn.Module, target: nn.Module, moments: list[Moment]) -> rg.Tensor:
    """How far each promise is from the reward and what the target network promises after it."""
    views, actions, rewards, after, down = (rg.tensor(column) for column in zip(*moments, strict=True))
    promised = network(views).gather(1, actions.unsqueeze(1)).squeeze(1)
    with rg.no_grad():
        wanted = rewards + DISCOUNT * target(after).amax(1) * (~down).float()
    return nn.functional.smooth_l1_loss(promised, wanted)


def main(quick: bool) -> int:
    """Play and learn."""
    rg.manual_seed(0)
    games = 200 if quick else 2000
    chance = random.Random(0)  # noqa: S311 - a game
    game, memory = Catch(seed=0), deque[Moment](maxlen=KEPT)
    network = nn.Sequential(nn.Linear(ROWS + 2 * COLUMNS, 48), nn.ReLU(), nn.Linear(48, ACTIONS))
    target = deepcopy(network)
    optimizer = rg.optim.Adam(network.parameters(), lr=3e-3)
    before = mean_return(network)
    with RunLog("build/examples/dqn_catch.csv") as log, progress(games, "playing") as bar:
        for number in range(games):
            view, down = game.reset(), False
            curious = max(0.05, 1 - 1.5 * number / games)
            while not down:
                action = chance.randrange(ACTIONS) if chance.random() < curious else best(network, view)
                after, reward, down = game.step(action)
                memory.append((view, action, reward, after, down))
                view = after
                optimizer.zero_grad()
                loss = loss_of(network, target, chance.sample(memory, min(BATCH, len(memory))))
                loss.backward()
                optimizer.step()
            if number % 10 == 0:
                target.load_state_dict(network.state_dict())
            log.write(step=number, loss=loss, reward=reward)
            bar.advance(f"loss {loss.item():.4f}")
    last = mean_return(network)
    print(f"mean return before {before:.2f}, after {last:.2f} (1 is the best)")
    with suppress(ModuleNotFoundError):  # there is no picture without matplotlib
        print("picture:", plot_log("build/examples/dqn_catch.csv", columns=["loss"]))
    return 0 if last > max(before + 0.5, 0.3) else 1


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv))
