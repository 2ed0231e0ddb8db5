"use strict";
(() => {
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  document.documentElement.classList.add("ready");

  for (const figure of all("figure.plot")) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const tip = figure.querySelector(".tip");
    const pictures = all("svg", figure);

    const hide = () => {
      tip.style.visibility = "hidden";
      for (const cursor of all(".cursor", figure)) cursor.setAttribute("visibility", "hidden");
    };

    const show = (picture, index) => {
      const places = data[picture.dataset.scale];
      const x = places.x[index];
      const cursor = picture.querySelector(".cursor");
      const guide = cursor.querySelector("line");
      guide.setAttribute("x1", x);
      guide.setAttribute("x2", x);
      all("circle", cursor).forEach((circle, series) => {
        circle.setAttribute("cx", x);
        circle.setAttribute("cy", places.y[series][index]);
      });
      cursor.setAttribute("visibility", "visible");
      tip.replaceChildren(...data.text[index].map((words) => {
        const row = document.createElement("div");
        row.textContent = words;
        return row;
      }));
      const scale = picture.clientWidth / picture.viewBox.baseVal.width;
      const left = picture.offsetLeft || 0;
      const top = picture.getBoundingClientRect().top - figure.getBoundingClientRect().top;
      const beside = x * scale + 14 + tip.offsetWidth > figure.clientWidth ? -14 - tip.offsetWidth : 14;
      tip.style.left = `${Math.max(0, left + x * scale + beside)}px`;
      tip.style.top = `${top + Math.max(8, places.y[0][index] * scale - tip.offsetHeight - 10)}px`;
      tip.style.visibility = "visible";
      picture.dataset.index = index;
    };

    const nearest = (picture, event) => {
      const bounds = picture.getBoundingClientRect();
      const x = (event.clientX - bounds.left) / bounds.width * picture.viewBox.baseVal.width;
      const xs = data[picture.dataset.scale].x;
      let best = 0;
      xs.forEach((place, index) => { if (Math.abs(place - x) <= Math.abs(xs[best] - x)) best = index; });
      return best;
    };

    const steps = { ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };
    for (const picture of pictures) {
      const last = data[picture.dataset.scale].x.length - 1;
      const here = () => Number(picture.dataset.index ?? Math.round(last / 2));
      picture.addEventListener("pointermove", (event) => show(picture, nearest(picture, event)));
      picture.addEventListener("pointerleave", hide);
      picture.addEventListener("focus", () => show(picture, here()));
      picture.addEventListener("blur", hide);
      picture.addEventListener("keydown", (event) => {
        if (event.key === "Escape") { hide(); return; }
        const ends = { Home: 0, End: last };
        if (!(event.key in steps) && !(event.key in ends)) return;
        event.preventDefault();
        const to = event.key in ends ? ends[event.key] : here() + steps[event.key];
        show(picture, Math.min(last, Math.max(0, to)));
      });
    }

    const choose = (name) => {
      hide();
      for (const picture of pictures) picture.toggleAttribute("hidden", picture.dataset.scale !== name);
    };
    for (const input of all(".switch input", figure)) {
      input.addEventListener("change", () => { if (input.checked) choose(input.value); });
      if (input.checked) choose(input.value);
    }
  }

  const runs = all("section.run");
  const select = document.getElementById("run");
  if (!select) return;
  const levels = all("input[name=level]");
  const position = () => Math.max(0, runs.findIndex((run) => run.id === select.value));

  const open = (run) => {
    for (const other of runs) other.toggleAttribute("hidden", other !== run);
    select.value = run.id;
    for (const input of levels) input.checked = input.value === run.dataset.level;
  };
  const follow = () => open(runs.find((run) => run.id === location.hash.slice(1)) ?? runs[position()]);

  select.addEventListener("change", () => {
    open(runs[position()]);
    history.replaceState(null, "", `#${select.value}`);
  });
  for (const input of levels) {
    input.addEventListener("change", () => {
      const now = runs[position()];
      const there = runs.filter((run) => run.dataset.level === input.value);
      open(there.find((run) => run.dataset.subject === now.dataset.subject) ?? there[0]);
      history.replaceState(null, "", `#${select.value}`);
    });
  }
  addEventListener("hashchange", follow);
  follow();
})();
