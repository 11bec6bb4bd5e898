"""What TensorBoard shows, as values of a summary: numbers, texts, histograms, images, settings of a run."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from retrograd.core.tensor import Tensor
from retrograd.utils.tensorboard.event_file import double, doubles, inside, single, whole

Value = bytes


def numbers_of(values: Any) -> Any:
    """An array of what is to be shown."""
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)


def number_of(value: Any) -> float:
    """One number."""
    found = numbers_of(value)
    if found.size != 1:
        raise AssertionError(
            f"scalar should be 0D: one number is wanted, and this has the shape {list(found.shape)}"
        )
    return float(found.reshape(()))


def scalar(tag: str, value: Any) -> Value:
    """One number of a curve."""
    return inside(1, tag) + single(2, number_of(value))


def text(tag: str, content: str) -> Value:
    """A text, which may be Markdown."""
    shape = inside(2, inside(2, whole(1, 1)))
    tensor = whole(1, 7) + shape + inside(8, content)
    return inside(1, f"{tag}/text_summary") + inside(8, tensor) + _plugin("text")


def _plugin(name: str, content: bytes = b"") -> bytes:
    return inside(9, inside(1, inside(1, name) + (inside(2, content) if content else b"")))


def histogram(tag: str, values: Any, bins: Any, max_bins: int | None) -> Value:
    """How numbers are spread."""
    found = numbers_of(values).reshape(-1).astype(np.float64)
    if not found.size:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(found, bins=_limits() if bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        width = -(-len(counts) // max_bins)
        counts = np.add.reduceat(counts, np.arange(0, len(counts), width))
        limits = np.append(limits[:-1:width], limits[-1])
    filled = np.flatnonzero(counts)
    first, last = (filled[0], filled[-1] + 1) if filled.size else (0, 0)
    buckets = [0.0, *counts[first:last].tolist()]  # everything is above the first limit
    facts = [found.min(), found.max(), float(found.size), found.sum(), found @ found]
    message = b"".join(double(i + 1, float(fact)) for i, fact in enumerate(facts))
    message += doubles(6, limits[first : last + 1].tolist()) + doubles(7, buckets)
    return inside(1, tag) + inside(5, message)


def _limits() -> Any:
    """Limits that grow by a tenth, on both sides of zero."""
    above = 1e-12 * 1.1 ** np.arange(775)
    return np.concatenate([-above[::-1], [0.0], above])


def image(tag: str, pixels: Any, layout: str, rescale: float = 1.0) -> Value:
    """A picture. Fractions are taken for numbers between 0 and 1, whole numbers for those between 0 and 255."""
    found = numbers_of(pixels)
    if sorted(layout.upper()) != sorted(set(layout.upper())) or len(layout) != found.ndim:
        raise AssertionError(f"size of input tensor and input format are different: {found.shape}, {layout}")
    shown = _in_rows(found, layout.upper())
    shown = np.clip(shown * (255.0 if shown.dtype != np.uint8 else 1.0) * rescale, 0, 255).astype(np.uint8)
    height, width, channels = shown.shape
    message = whole(1, height) + whole(2, width) + whole(3, channels) + inside(4, png(shown))
    return inside(1, tag) + inside(4, message)


def _in_rows(pixels: Any, layout: str) -> Any:
    """Pictures as one of height, width and channels: several of them side by side, eight in a row."""
    if "N" not in layout:
        pixels, layout = pixels[None], f"N{layout}"
    if "C" not in layout:
        pixels, layout = pixels[..., None], f"{layout}C"
    many = pixels.transpose([layout.index(name) for name in "NHWC"])
    if many.shape[3] == 1:
        many = np.repeat(many, 3, axis=3)
    columns = min(len(many), 8)
    rows = -(-len(many) // columns)
    blank = np.zeros((rows * columns - len(many), *many.shape[1:]), many.dtype)
    grid = np.concatenate([many, blank]).reshape(rows, columns, *many.shape[1:])
    return grid.transpose(0, 2, 1, 3, 4).reshape(rows * many.shape[1], columns * many.shape[2], many.shape[3])


def png(pixels: Any) -> bytes:
    """Bytes of height, width and 3 or 4 channels as a PNG file."""
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[channels], 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def settings(hparams: dict[str, Any], metrics: dict[str, Any]) -> list[Value]:
    """The settings of a run, the names of what it was measured by, and that it has ended."""
    chosen = b"".join(
        inside(1, inside(1, name) + inside(2, _setting(value))) for name, value in hparams.items()
    )
    known = b"".join(inside(4, inside(1, name) + whole(4, _kind(value))) for name, value in hparams.items())
    measured = b"".join(inside(5, inside(1, inside(2, name))) for name in metrics)
    contents = {
        "_hparams_/experiment": inside(2, known + measured),
        "_hparams_/session_start_info": inside(3, chosen),
        "_hparams_/session_end_info": inside(4, whole(1, 1)),
    }
    return [inside(1, name) + _plugin("hparams", content) for name, content in contents.items()]


def _setting(value: Any) -> bytes:
    if isinstance(value, Tensor):
        value = number_of(value)
    if isinstance(value, (bool, np.bool_)):
        return whole(4, int(value))
    if isinstance(value, (int, float, np.number)):
        return double(2, float(value))
    if value is None or isinstance(value, str):
        return inside(3, str(value))
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")


def _kind(value: Any) -> int:
    return 2 if isinstance(value, (bool, np.bool_)) else 1 if isinstance(value, str) or value is None else 3
