"""Makes the README's pictures from the running product: `make screenshots`.

Starts the whole service in a folder of its own, submits a few prompts over the API, waits for
the pictures and photographs the pages with Chromium into ``docs/images/``.
"""

import io
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import httpx
from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT: Final = Path(__file__).resolve().parent.parent
IMAGES: Final = ROOT / "docs" / "images"
PATIENCE: Final = 180.0
PROMPTS: Final = (
    "snowy mountains above a lake at dawn, calm",
    "a city at night in the rain, neon",
    "水墨 远山 薄雾 月亮",
    "a wild sea in a storm, lightning, oil",
    "autumn forest in golden light, watercolour",
    "dunes under a starry sky",
    "stained glass of sun and hills",
    "red flowers in spring, paper cut",
    "aurora over black mountains, dreamy",
)


def main() -> None:
    """Start, fill, photograph, stop."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("Chromium is needed: apt install chromium fonts-wqy-microhei.")
    with tempfile.TemporaryDirectory(prefix="darkroom-pictures-") as folder:
        Path(folder).chmod(0o711)
        service, values = _start(Path(folder) / "data")
        try:
            _fill(values)
            _photograph(chromium, values)
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait(30)


def _start(data: Path) -> "tuple[subprocess.Popen[bytes], dict[str, str]]":
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "aigc_site.embedded", "--port", str(port)]
    inherited = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    service = subprocess.Popen([*command, "--data", str(data)], cwd=ROOT, env=inherited)
    url = f"http://127.0.0.1:{port}"
    _until(lambda: _ready(url))
    lines = (data / "first-run.env").read_text().splitlines()
    pairs = (line.partition("=") for line in lines)
    return service, {name: shlex.split(value)[0] for name, _, value in pairs if value}


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=2, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def _fill(values: dict[str, str]) -> None:
    """Submit the prompts, as fast as the account may, and wait until all have ended."""
    headers = {"Authorization": f"Bearer {values['DARKROOM_API_KEY']}"}
    base = values["DARKROOM_URL"]
    with httpx.Client(base_url=base, headers=headers, timeout=30, trust_env=False) as client:
        for seed, prompt in enumerate(PROMPTS):
            body = {"generator": "sketch", "params": {"prompt": prompt, "seed": seed}}
            _until(lambda body=body: _accepted(client, body))  # type: ignore[misc]
        _until(lambda: not client.get("/v1/tasks?status=pending,running").json()["items"])


def _accepted(client: httpx.Client, body: dict[str, object]) -> bool:
    answer = client.post("/v1/tasks", json=body)
    if answer.status_code == 429:
        time.sleep(min(15, int(answer.headers["Retry-After"])))
    return answer.status_code == 202


def _photograph(chromium: str, values: dict[str, str]) -> None:
    IMAGES.mkdir(exist_ok=True)
    user = values["DARKROOM_USER"], values["DARKROOM_PASSWORD"]
    staff = values["DARKROOM_ADMIN_USER"], values["DARKROOM_ADMIN_PASSWORD"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        shots = (
            ("studio", "/", "dark", (1280, 900), user),
            ("gallery", "/gallery", "light", (1280, 900), user),
            ("phone", "/gallery", "dark", (390, 844), user),
            ("staff", "/admin/", "light", (1280, 900), staff),
        )
        for name, address, light, (width, height), who in shots:
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if light == "dark" else "light",
                base_url=values["DARKROOM_URL"],
            )
            page = context.new_page()
            _log_in(page, *who)
            page.goto(address, wait_until="networkidle")
            _save(page, name)
            context.close()
        browser.close()


def _log_in(page: Page, name: str, password: str) -> None:
    page.goto("/login")
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", password)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/login" not in url)


def _save(page: Page, name: str) -> None:
    picture = Image.open(io.BytesIO(page.screenshot()))
    picture.convert("RGB").save(IMAGES / f"{name}.webp", "WEBP", quality=82, method=6)


def _until(question: Callable[[], object]) -> None:
    """Ask until the answer is true, for at most ``PATIENCE`` seconds."""
    give_up = time.monotonic() + PATIENCE
    while not question():
        if time.monotonic() > give_up:
            raise TimeoutError("the service did not get there in time")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
