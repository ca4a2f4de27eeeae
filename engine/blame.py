"""Whose fault is an exception that ends a load: that of the files, or does the host end more than the load?

Source: `docs/deployments.md`, what is taken for a fault of a load.
"""

from __future__ import annotations

import threading
from itertools import pairwise
from traceback import walk_tb

_VARARGS = 4  # flag of the code of a function that takes any number of arguments


def is_of_the_host(error: BaseException) -> bool:
    """Does it end more than a load: is it Ctrl-C, an exit, or of a handler of a signal?

    Such a handler, and nothing else, is given the very frame that it is called from.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return True
    for caller, called in pairwise(frame for frame, _ in walk_tb(error.__traceback__)):
        code = called.f_code
        many = bool(code.co_flags & _VARARGS)
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + many]:
            given = called.f_locals.get(name)
            if any(each is caller for each in (given if type(given) is tuple else (given,))):
                return True
    return False
