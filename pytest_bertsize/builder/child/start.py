"""Start the helper process in another interpreter than the gate's. Of the gate's packages it can import only this one.

The files of this folder and all modules that they import, such as ``confined`` and ``published``, run on Python 3.9;
this file runs on any Python 3, so that an interpreter that is too old can say so.
"""

import json
import os
import sys

OLDEST = (3, 9)  # python that runs the helper process


def main() -> None:
    if sys.version_info < OLDEST:
        said = "is Python {}.{}, and {}.{} is the oldest that builds models".format(*sys.version_info[:2], *OLDEST)
        content = json.dumps(said).encode()
        os.write(1, "refused 0 {}\n".format(len(content)).encode() + content)  # noqa: UP032
        os._exit(1)
    package = type(sys)("pytest_bertsize")
    package.__path__ = [os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))]  # noqa: PTH100, PTH120
    sys.modules["pytest_bertsize"] = package
    from pytest_bertsize.builder.child.__main__ import main as build

    build()


if __name__ == "__main__":
    main()
