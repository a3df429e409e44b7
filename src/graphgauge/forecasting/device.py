"""Point and Gaussian forecasts on a CUDA device, by plain operations of torch: only sums come to the host."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.types import Floats
from graphgauge.forecasting.design import Design
from graphgauge.forecasting.sample import Sample
from graphgauge.forecasting.sums import Span

Totals = tuple[Floats, Floats, Floats]


def of_one_type(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Contiguous tensors on the device of the truth, of float32 if all are floats of at most 32 bits."""
    torch = need("torch", "a tensor")
    where = arrays["y_true"].device
    tensors = {name: torch.as_tensor(array, device=where).detach() for name, array in arrays.items()}
    for name, tensor in tensors.items():
        if tensor.is_complex():
            raise InputError("has complex numbers", where=name)
    narrow = all(tensor.is_floating_point() and tensor.element_size() <= 4 for tensor in tensors.values())
    kind = torch.float32 if narrow else torch.float64
    return {name: tensor.to(kind).contiguous() for name, tensor in tensors.items()}


def error_sums(sample: Sample, design: Design, span: Span) -> tuple[Totals, Totals]:
    """The sums of `_core.error_sums`, (block, quantity, group): high parts, low parts and counts."""
    torch = need("torch", "a tensor")
    seen = torch.ones_like(sample.y, dtype=torch.bool) if sample.mask is None else sample.mask

    def of(array: Any) -> Any:
        return torch.where(seen, array, 0).to(torch.float64)

    y = of(sample.y)
    f = y if sample.mean is None else of(sample.mean)
    e = f - y
    away, size = e.abs(), y.abs()
    columns = {"abs": away, "square": e * e, "error": e, "y": y, "y2": y * y, "abs_y": size}
    both = size + f.abs()
    columns |= {"ape": torch.where(y != 0, away / size, 0), "sape": torch.where(both > 0, 2 * away / both, 0)}
    counts = [seen, (y != 0) if "ape" in design.terms else torch.zeros_like(seen)]
    if sample.std is None:
        counts.append(torch.zeros_like(seen))
    else:
        given = sample.std.to(torch.float64)
        std = torch.where(seen, given, 1.0)
        counts.append(seen & ~((given > 0) & (given < math.inf)))
        z = e / std
        density, share = torch.exp(-0.5 * z * z) / math.sqrt(2 * math.pi), torch.erf(z / math.sqrt(2))
        columns |= {
            "std": torch.where(seen, std, 0),
            "var": torch.where(seen, std * std, 0),
            "nll": torch.where(seen, torch.log(std) + 0.5 * z * z + 0.5 * math.log(2 * math.pi), 0),
            "crps": torch.where(seen, std * (z * share + 2 * density - 1 / math.sqrt(math.pi)), 0),
        }
        for level, width in design.half_widths.items():
            columns[f"over_{level:g}"] = torch.where(seen, (away - width * std).clamp(min=0), 0)
            counts.append(seen & (away <= width * std))
    names = [term for term in design.terms if term != "over"]
    if "over" in design.terms:
        names += [f"over_{level:g}" for level in design.half_widths]
    sums = torch.stack([columns[name] for name in names])
    known = torch.stack(counts).to(torch.float64)
    return _by_group(sums, known, span, by_node=False), _by_group(sums, known, span, by_node=True)


def _by_group(sums: Any, counts: Any, span: Span, *, by_node: bool) -> Totals:
    """Sums over (quantity, step, horizon, node)."""
    shift = span.node_shift if by_node else span.shift
    blocks = span.blocks(shift)
    steps = np.arange(span.first, span.first + span.steps) >> shift
    place = sums.new_tensor(steps - (span.first >> shift)).long()

    def added(values: Any) -> Floats:
        of_steps = values.sum(dim=2 if by_node else 3)
        total = of_steps.new_zeros(len(values), len(blocks), of_steps.shape[2]).index_add(1, place, of_steps)
        return np.asarray(total.movedim(0, 1).cpu().numpy())

    high, whole = added(sums), added(counts)
    return high, np.zeros(high.shape), whole
