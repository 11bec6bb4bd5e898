"""`SummaryWriter`: logs a run into files that TensorBoard shows."""

from __future__ import annotations

import itertools
import os
import socket
import time
from pathlib import Path
from typing import Any, Self

from retrograd.core.places import warn
from retrograd.utils.tensorboard import summary
from retrograd.utils.tensorboard.event_file import EventFile

_NUMBERS = itertools.count()


class SummaryWriter:
    """Logs numbers, texts, histograms and images of a run. TensorBoard is needed to look at them, not to write them.

    Args:
        log_dir: the folder; `runs/` with the date and the machine's name by default.
        comment: is added to that name.
        purge_step, max_queue, flush_secs: PyTorch's, without an effect: every event is written at once.
        filename_suffix: what names of files end in.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with SummaryWriter(folder) as writer:
    ...     for step in range(3):
    ...         writer.add_scalar("loss", 1 / (step + 1), step)
    >>> os.listdir(folder)[0].startswith("events.out.tfevents.")
    True
    """

    def __init__(
        self, log_dir: str | os.PathLike[str] | None = None, comment: str = "", purge_step: int | None = None,
        max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "",
    ) -> None:  # fmt: skip
        if not log_dir:
            log_dir = str(Path("runs") / f"{time.strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step, self.max_queue, self.flush_secs = purge_step, max_queue, flush_secs
        self.filename_suffix = filename_suffix
        self._files: dict[str, EventFile] = {}
        self._file("")

    def _file(self, folder: str) -> EventFile:
        """The file of a folder inside of the run's."""
        if folder not in self._files:
            name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_NUMBERS)}"
            self._files[folder] = EventFile(Path(self.log_dir) / folder, f"{name}{self.filename_suffix}")
        return self._files[folder]

    def get_logdir(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.log_dir

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None,
        new_style: bool = False, double_precision: bool = False,
    ) -> None:  # fmt: skip
        """A number: a point of the curve `tag`."""
        self._file("").add([summary.scalar(tag, scalar_value)], global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Points of several curves in one picture, each of which has a folder of its own."""
        for tag, value in tag_scalar_dict.items():
            folder = f"{main_tag}_{tag}".replace("/", "_").replace(" ", "_")
            self._file(folder).add([summary.scalar(main_tag, value)], global_step, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """A text, which may be Markdown."""
        self._file("").add([summary.text(tag, text_string)], global_step, walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: int | None = None, bins: Any = "tensorflow",
        walltime: float | None = None, max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """How the elements of a tensor are spread."""
        self._file("").add([summary.histogram(tag, values, bins, max_bins)], global_step, walltime)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:  # fmt: skip
        """A picture."""
        self._file("").add([summary.image(tag, img_tensor, dataformats)], global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:  # fmt: skip
        """Several pictures, side by side."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """A figure of Matplotlib's, or several."""
        for each in figure if isinstance(figure, list) else [figure]:
            each.canvas.draw()
            self.add_image(tag, summary.numbers_of(each.canvas.buffer_rgba()), global_step, walltime, "HWC")
            if close:
                each.clear()

    def add_hparams(
        self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: Any = None,
        run_name: str | None = None, global_step: int | None = None,
    ) -> None:  # fmt: skip
        """The settings of a run and what it was measured by, to compare runs."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        file = self._file(run_name or str(time.time()))
        file.add(summary.settings(hparam_dict, metric_dict), None, None)
        for name, value in metric_dict.items():
            file.add([summary.scalar(name, value)], global_step, None)

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Nothing: models are not traced here. `retrograd.inspect` shows their graphs."""
        warn("SummaryWriter.add_graph writes nothing: models are not traced here.", UserWarning)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"SummaryWriter.{name} is not in retrograd: it logs scalars, texts, histograms, images, figures and "
            "hparams. tensorboardX has the rest.",
            name=name,
            obj=self,
        )

    def flush(self) -> None:
        """Nothing is left to write: every event is written at once."""

    def close(self) -> None:
        """Ends the files; what is logged afterwards begins new ones."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
