"""The text that a spec had before its expectations were filled or updated, for `harness review`.

It is kept in the folder ``.harness``, which git ignores, until everything in the spec is reviewed.
"""

from __future__ import annotations

from pathlib import Path

from harness.recording.part_file import make_state_folder, state_folder


def before_update(spec: Path) -> str | None:
    """Return the text of a spec before its first update that is not reviewed; None if none is
    kept.
    """
    try:
        return _kept(spec).read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):
        return None


def keep_before(spec: Path, text: str) -> None:
    """Keep the text of a spec. Raises `OSError`."""
    from harness.recording.persister import save  # imports vcrpy

    kept = _kept(spec)
    make_state_folder(kept.parent)
    save(kept, [text.encode()])


def forget_before(spec: Path) -> None:
    """Delete the kept text of a spec."""
    _kept(spec).unlink(missing_ok=True)


def _kept(spec: Path) -> Path:
    return state_folder(spec.resolve(), "before-update") / f"{spec.name}.before"
