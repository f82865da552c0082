"""The studio's server inside the gate: its routes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from aqmlab import exercise
from aqmlab import scenario as scenarios
from aqmlab._core import Scenario, studio_check, studio_limits
from aqmlab.extras import required
from aqmlab.names import unknown
from aqmlab.problems import InputError, problems_of
from aqmlab.studio import catalogue, field, lessons, session
from aqmlab.studio.gate import LARGEST_BODY
from aqmlab.studio.published import published
from aqmlab.studio.reproduced import Reproduced
from aqmlab.studio.results import Folder
from aqmlab.studio.turns import apart, in_turn

with required():
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
    from starlette.routing import Mount, Route, WebSocketRoute
    from starlette.staticfiles import StaticFiles
    from starlette.websockets import WebSocket

STATIC = Path(str(files("aqmlab.studio") / "static"))
"""The page and what it loads."""

WANTS: tuple[Literal["show", "check", "file"], ...] = ("show", "check", "file")
"""The parts of a sheet that the page may request."""


@dataclass(frozen=True)
class Studio:
    """The studio as the command line opens it: a scenario, schemes of the user's own, folders of results."""

    scenario: Scenario | None = None
    own: Sequence[str] = ()
    results: Sequence[Folder | Reproduced] = ()

    def known(self, name: str) -> tuple[str, str]:
        """Return the name and the text of a built-in scenario, or of the one that the command line names."""
        if self.scenario is not None and name == self.scenario.name:
            return name, self.scenario.text
        if name not in scenarios.scenarios():
            raise unknown("scenario", "no scenario", name[:80], scenarios.scenarios())
        return name, scenarios.load(name).text

    @cached_property
    def catalogue(self) -> bytes:
        """The catalogue as JSON."""
        is_own = self.scenario is not None and self.scenario.name not in scenarios.scenarios()
        more = [(self.scenario.name, self.scenario.title)] if self.scenario and is_own else []
        found = catalogue.document(self.own, more) | {
            "results": bool(self.results),
            "scenario": self.scenario and self.scenario.name,
            "limits": studio_limits() | {"bytes": LARGEST_BODY},
        }
        return json.dumps(found, ensure_ascii=False).encode()

    def folder(self, number: int) -> Folder | Reproduced:
        """Return a folder of results."""
        if number >= len(self.results):
            raise InputError("results", f"{number}: there are {len(self.results)} folders", "unknown")
        return self.results[number]


def opened(studio: Studio, name: str) -> dict[str, str]:
    """Return a scenario in the page's format; InputError with the nearest names if there is none."""
    name, text = studio.known(name)
    return {"name": name, "title": Scenario.parse(text, name).title, "text": text}


def app(studio: Studio) -> Starlette:
    """Return the server inside the gate."""
    routes = [
        Route("/", _page),
        Route("/api/catalogue", _catalogue),
        Route("/api/scenario/{name:path}", _scenario),
        Route("/api/check", _check, methods=["POST"]),
        Route("/api/lessons/{id}", _lesson),
        Route("/api/exercise/{id}", _exercise, methods=["POST"]),
        Route("/api/results", _results),
        Route("/api/results/{number:int}", _result),
        Route("/api/results/{number:int}/figure/{name}.svg", _figure),
        Route("/api/published/{name}", _published),
        WebSocketRoute("/session", _session),
        Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
    ]
    found = Starlette(routes=routes, exception_handlers={InputError: _refused})
    found.state.studio = studio
    return found


def _studio(request: Request | WebSocket) -> Studio:
    studio: Studio = request.app.state.studio
    return studio


async def _page(_: Request) -> Response:
    index = STATIC / "index.html"
    return FileResponse(index) if index.is_file() else PlainTextResponse("The page is not built: make studio", 503)


async def _catalogue(request: Request) -> Response:
    content = await apart(lambda: _studio(request).catalogue)
    return Response(content, media_type="application/json")


async def _scenario(request: Request) -> Response:
    return JSONResponse(await apart(lambda: opened(_studio(request), request.path_params["name"])))


async def _check(request: Request) -> Response:
    text = (await request.body()).decode("utf-8", "replace")
    answer = await apart(lambda: in_turn(text, lambda: studio_check(text)))
    return Response(answer, media_type="application/json")


async def _lesson(request: Request) -> Response:
    return JSONResponse(lessons.lesson(request.path_params["id"]).document())


async def _exercise(request: Request) -> Response:
    message = field.read((await request.body()).decode("utf-8", "replace"))
    return JSONResponse(await apart(lambda: _examined(request.path_params["id"], message)))


async def _results(request: Request) -> Response:
    named = [{"id": i, "name": folder.path.name} for i, folder in enumerate(_studio(request).results)]
    return JSONResponse({"folders": named})


async def _result(request: Request) -> Response:
    number = request.path_params["number"]
    folder = _studio(request).folder(number)
    if request.query_params.get("since") == folder.version():
        return Response(status_code=304)
    found = await apart(folder.document)
    for figure in found["figures"]:
        figure["svg"] = f"/api/results/{number}/figure/{figure['name']}.svg"
    return JSONResponse({"id": number, "name": folder.path.name, **found})


async def _figure(request: Request) -> Response:
    folder = _studio(request).folder(request.path_params["number"])
    drawn = await apart(lambda: folder.figure(request.path_params["name"]))
    return Response(drawn, media_type="image/svg+xml")


async def _published(request: Request) -> Response:
    return JSONResponse(published(request.path_params["name"]))


async def _session(websocket: WebSocket) -> None:
    await websocket.accept()
    await session.Session(websocket, lambda name: _studio(websocket).known(name)[1]).run()


async def _refused(_: Request, error: Exception) -> Response:
    is_unknown = any(problem.kind == "unknown" for problem in problems_of(error))
    return JSONResponse({"error": str(error)}, 404 if is_unknown else 400)


def _examined(name: str, message: dict[str, Any]) -> dict[str, Any]:
    """Return what there is to know about the exercises of a student, or why there is nothing."""
    want, minutes = field.one_of(message, "want", WANTS), field.one_of(message, "minutes", exercise.MINUTES)
    given = message.get("answers") or {}
    if not isinstance(given, dict):
        raise InputError("answers", "expected a text for each task")
    answers = {task: field.text(given, task) for task in given}
    sheet, student = exercise.sheet(name), field.text(message, "student")
    try:
        return sheet.ask(want, student, minutes, answers)
    except InputError as error:
        return {"error": str(error)}
