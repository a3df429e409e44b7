"""What tables over runs have in common: the forms they are shown in, and the files they are written to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphgauge.core.disk import write_text
from graphgauge.core.errors import OptionError
from graphgauge.core.files import refuse_result

FORMS = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".html": "html", ".txt": "table"}


class Shown:
    """A table that `render` makes a text of, in one of `FORMS`."""

    def render(self, form: str = "table", **style: Any) -> str:
        raise NotImplementedError

    def to_latex(self, **style: Any) -> str:
        """For booktabs, with this `style`; the notes are comments."""
        return self.render("latex", **style)

    def to_markdown(self, **style: Any) -> str:
        """In Markdown, with this `style`."""
        return self.render("markdown", **style)

    def save(self, path: str | Path, **style: Any) -> Path:
        """Write a .json, .csv, .md, .tex, .html or .txt file, as the ending of `path` says, with this `style`."""
        target = Path(path)
        form = FORMS.get(target.suffix.lower()) if target.suffix else "table"
        if form is None:
            fix = f"Use {', '.join(FORMS)}; plot() draws figures."
            raise OptionError(f"{target.name!r:.60} has no known ending", fix=fix)
        refuse_result(target)
        write_text(target, self.render(form, **({} if form in ("csv", "json") else style)))
        return target

    def __str__(self) -> str:
        return self.render()

    def _repr_html_(self) -> str:
        return self.render("html")
