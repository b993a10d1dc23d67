"""Every folder of cases is used by a test, or the README says what stands for it."""

from pathlib import Path

import pytest

CASES = Path(__file__).parent
FOLDERS = sorted(path for group in CASES.iterdir() if group.is_dir() for path in group.iterdir())


@pytest.mark.parametrize("folder", [f for f in FOLDERS if f.is_dir()], ids=lambda f: f.name)
def test_every_folder_of_cases_has_a_test(folder):
    tests = (CASES / f"test_{folder.parent.name}.py").read_text(encoding="utf-8")
    listed = (CASES / "README.md").read_text(encoding="utf-8")

    assert f'"{folder.name}"' in tests or f"`{folder.parent.name}/{folder.name}`" in listed
