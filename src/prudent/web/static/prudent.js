"use strict";
// The pages work without this script; with it, the answer follows every edit.

(() => {
  const byId = (id) => document.getElementById(id);
  document.documentElement.classList.add("has-script");

  const problem = (sentence) => {
    const box = document.createElement("p");
    box.className = "problem";
    box.setAttribute("role", "alert");
    box.textContent = sentence;
    return box;
  };
  const UNREACHABLE = "The server cannot be reached; check that it runs, and try again.";

  const sentenceOf = async (response) => {
    try {
      return (await response.json()).problem || response.statusText;
    } catch {
      return response.statusText || "The server refused the request.";
    }
  };

  const oneCase = (form) => {
    const WAIT = 250; // milliseconds after the last key
    const place = byId("answer"), bar = byId("bar"), slider = byId("caution");
    let answered = "", before = "", timer = 0, running = null;

    const fields = () => new URLSearchParams(new FormData(form)).toString();

    const say = () => {
      const names = slider.dataset.names.split("\n"), sentences = slider.dataset.sentences.split("\n");
      const step = Number(slider.value);
      byId("caution-name").textContent = names[step];
      byId("caution-does").textContent = sentences[step];
      slider.setAttribute("aria-valuetext", `${names[step]}: ${sentences[step]}`);
    };

    // a number in another unit is the commonest slip
    const compare = (input) => {
      const hint = byId(`${input.id}-hint`);
      if (!hint || !input.dataset.low) return;
      const number = input.value.trim() === "" ? NaN : Number(input.value.trim().replace(",", "."));
      const outside = number < Number(input.dataset.low) || number > Number(input.dataset.high);
      hint.dataset.plain ||= hint.textContent;
      hint.textContent = outside ? `Outside the log: ${hint.dataset.plain}` : hint.dataset.plain;
      hint.classList.toggle("outside", outside);
    };

    const ask = async () => {
      clearTimeout(timer);
      if (running) running.abort();
      const mine = (running = new AbortController());
      const asked = fields();
      const body = new URLSearchParams(asked);
      if (before && before !== asked) body.set("before", before);
      place.setAttribute("aria-busy", "true");
      try {
        const response = await fetch("answer", {method: "POST", body, signal: mine.signal, credentials: "same-origin"});
        if (response.status === 401) return void (location.href = "login");
        const opened = [...place.querySelectorAll("details")].map((one) => one.open);
        const kind = response.headers.get("content-type") || "";
        if (kind.startsWith("text/html")) place.innerHTML = await response.text();
        else place.replaceChildren(problem(await sentenceOf(response)));
        [...place.querySelectorAll("details")].forEach((one, at) => { one.open = Boolean(opened[at]); });
        if (response.ok) answered = asked;
        const found = place.querySelector("[data-action]");
        bar.hidden = !found;
        bar.textContent = found ? `Recommended: ${found.dataset.action}` : "";
      } catch (failure) {
        if (failure.name === "AbortError") return;
        place.replaceChildren(problem(UNREACHABLE));
      }
      if (running === mine) place.removeAttribute("aria-busy");
    };

    const soon = () => {
      clearTimeout(timer);
      timer = setTimeout(ask, WAIT);
    };

    // what an edit changed is told against the answer that stood when the field was entered
    form.addEventListener("focusin", () => { before = answered; });
    form.addEventListener("input", (event) => {
      if (event.target.type === "search") return;
      if (event.target === slider) say();
      compare(event.target);
      soon();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      ask();
    });
    form.addEventListener("reset", () => {
      before = "";
      setTimeout(() => {
        for (const input of form.querySelectorAll(".field input, .field select")) {
          input.value = "";
          compare(input);
        }
        for (const box of form.querySelectorAll("input[type=checkbox]")) box.checked = false;
        say();
        ask();
      });
    });
    const search = byId("search");
    if (search) {
      search.addEventListener("input", () => {
        const wanted = search.value.trim().toLowerCase();
        for (const field of form.querySelectorAll(".fields .field")) {
          field.hidden = !field.dataset.name.includes(wanted);
        }
      });
    }
    place.addEventListener("submit", async (event) => {
      event.preventDefault();
      const later = event.target, said = later.querySelector(".said");
      try {
        const body = new URLSearchParams(new FormData(later));
        const response = await fetch(later.getAttribute("action"), {method: "POST", body, credentials: "same-origin"});
        said.textContent = response.ok ? (await response.json()).said : await sentenceOf(response);
        said.classList.toggle("bad", !response.ok);
      } catch {
        said.textContent = UNREACHABLE;
      }
    });
    say();
    if ([...form.querySelectorAll(".fields .field input, .fields .field select")].some((one) => one.value)) ask();
  };

  const oneTable = (form) => {
    const said = byId("uploaded"), button = form.querySelector("button");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      button.disabled = true;
      said.textContent = "Working …";
      try {
        const headers = {accept: "application/json"};
        const response = await fetch("table", {method: "POST", body: new FormData(form), headers, credentials: "same-origin"});
        if (response.status === 401) return void (location.href = "login");
        if (!response.ok) {
          said.replaceChildren(problem(await sentenceOf(response)));
          return;
        }
        const name = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") || "");
        const link = document.createElement("a");
        link.href = URL.createObjectURL(await response.blob());
        link.download = name ? name[1] : "advice";
        link.textContent = `Save ${link.download}`;
        const notes = document.createElement("ul");
        notes.className = "remarks";
        for (const note of JSON.parse(response.headers.get("prudent-notes") || "[]")) {
          const item = document.createElement("li");
          item.textContent = note;
          notes.append(item);
        }
        const done = document.createElement("p");
        done.append("Done: ", link, ".");
        said.replaceChildren(done, ...(notes.children.length ? [notes] : []));
        link.click();
      } catch {
        said.replaceChildren(problem(UNREACHABLE));
      } finally {
        button.disabled = false;
      }
    });
  };

  if (byId("case")) oneCase(byId("case"));
  if (byId("upload")) oneTable(byId("upload"));
})();
