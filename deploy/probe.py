"""Ask the server of this container whether it answers: exit code 0 when it does. The image has no curl."""

import os
import sys
import urllib.error
import urllib.request


def main() -> int:
    """Probe `/v1/health` on PORT."""
    url = f"http://127.0.0.1:{os.environ.get('PORT', '8080')}/v1/health"
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return 0 if answer.status == 200 else 1
    except (urllib.error.URLError, TimeoutError):
        return 1


if __name__ == "__main__":
    sys.exit(main())
