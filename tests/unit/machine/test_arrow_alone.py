"""Arrow in processes of our own: it does not import pandas, and still gives its frames to whoever asks."""

import subprocess
import sys

import pytest


def said_by(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_arrow_asks_for_pandas_once_and_in_vain():
    pytest.importorskip("pandas")
    program = (
        "import sys; from indistinct.machine.arrow_alone import keep_arrow_from_pandas as keep; "
        "keep(); import pyarrow as pa, numpy as np; "
        "pa.array([1, None]); pa.array(np.arange(3)); pa.table({'a': ['x']}); "
        "print('pandas' in sys.modules, [each for each in sys.meta_path if 'Absent' in str(each)], end=' ');"
        "print(len(pa.table({'a': [1, 2]}).to_pandas()), 'pandas' in sys.modules)"
    )
    assert said_by(program) == "False [] 2 True"


def test_what_the_user_imported_stays():
    pytest.importorskip("pandas")
    program = (
        "import pandas as pd; from indistinct.machine.arrow_alone import keep_arrow_from_pandas as keep; keep(); "
        "import pyarrow as pa; print(pa.array(pd.Series([1.5, None])).null_count)"
    )
    assert said_by(program) == "1"


def test_a_command_needs_no_pandas(tmp_path):
    table = tmp_path / "people.csv"
    table.write_text("age,sex\n" + "".join(f"{20 + n % 7},{'fm'[n % 2]}\n" for n in range(40)))
    program = (
        f"import sys; sys.argv = ['indistinct', 'inspect', {str(table)!r}, '--json']\n"
        "from indistinct.cli import main\n"
        "assert main() == 0\n"
        "print('pandas' in sys.modules)"
    )
    assert said_by(program).splitlines()[-1] == "False"
