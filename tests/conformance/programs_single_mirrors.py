"""Conjugates and negatives of one number, of bfloat16, and of another size than before."""

from __future__ import annotations

from typing import Any

from .harness import program


def mirrors(torch: Any) -> list[Any]:
    z = torch.tensor(2.0 + 1.0j)
    return [torch._neg_view(torch.tensor(3.0)), z.conj(), torch._neg_view(z), torch._neg_view(z).conj()]


@program()
def one_number_is_written_into(torch: Any) -> Any:
    first = torch.tensor([0])
    found = []
    for x in mirrors(torch):
        five = torch.tensor([5.0], dtype=x.dtype)
        found.append((torch.index_add(x, 0, first, five[0]), torch.index_fill(x, 0, first, 2.0)))
        found.append(
            (torch.scatter(x, 0, first, five), torch.scatter_add(x, 0, first, five), x.put_(first, five))
        )
    return found


@program()
def negatives_of_bfloat16(torch: Any) -> Any:
    x = torch._neg_view(torch.tensor([2.0, 3.0], dtype=torch.bfloat16))
    return x, x + 1, x.sum(), x.neg(), x.clone().add_(1), x[1], x.is_neg()


@program()
def a_conjugate_grows(torch: Any) -> Any:
    z = torch.tensor([1.0 + 2.0j, 3.0 - 1.0j]).conj()
    z.resize_(2, 2)
    return z.shape, z.flatten()[:2]


@program()
def a_conjugate_is_turned_back_into_a_signal(torch: Any) -> Any:
    window = torch.ones(4)
    spectrum = torch.stft(torch.arange(12.0), 4, window=window, return_complex=True)
    return torch.istft(spectrum.conj().conj_physical().conj().conj(), 4, window=window)
