"""Many threads at once, and whether what they call can be compiled here."""

import threading

from gpureduce._custom import nvrtc

THREADS = 16


def can_compile():
    try:
        nvrtc.library()
    except ImportError:
        return False
    return True


def together(work, threads=THREADS):
    """Call work(number) in many threads at once; raise what one of them raised."""
    start, raised = threading.Barrier(threads), []

    def call(number):
        start.wait()
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    running = [threading.Thread(target=call, args=(number,), daemon=True) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if raised:
        raise raised[0]
