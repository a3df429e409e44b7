"""`write_report`: one self-contained HTML file that makes no network requests."""

from __future__ import annotations

from pathlib import Path

from graphgauge.core.scrub import clean
from graphgauge.old.core.pages import rendered
from graphgauge.old.core.schema import refuse_data, write_product
from graphgauge.old.stats.collect import Source, collect, parts_of
from graphgauge.report.asked import asked
from graphgauge.report.page import page

_TEMPLATE = Path(__file__).parent / "templates" / "page"


def write_report(source: Source, path: str | Path, *, title: str | None = None) -> Path:
    """Write the report of results as one HTML page that needs no network.

    Parameters
    ----------
    source
        A folder of results, a result file, or several of both.
    path
        The page to write.
    title
        Its heading; by default the study's name, if there is one.

    Returns
    -------
    pathlib.Path
        The page that was written.

    Raises
    ------
    InputError
        If there is no result to show. Damaged files are listed on the page.

    Examples
    --------
    >>> from graphgauge import ranking, report
    >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]])
    >>> _ = ev.save("result.json")
    >>> report.write_report("result.json", "report.html").name
    'report.html'
    """
    target, parts = Path(path), parts_of(source)
    refuse_data(target)
    found = page(
        collect(parts), asked(part for part in parts if part.is_dir()), None if title is None else clean(str(title))
    )
    write_product(target, rendered(_TEMPLATE, found.data, page=found))
    return target
