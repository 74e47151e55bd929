// Makes the page quicker. Everything works without it, but for the sliders and the copy buttons.

document.documentElement.classList.add("script");

// One release for each click: a form that is on its way is not sent again.
for (const form of document.forms) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Copy it by hand";
    }
    setTimeout(() => { button.textContent = before; }, 2000);
  });
}

// The slider of epsilon, and the preview that follows it.
const slider = document.getElementById("slider");
const typed = document.getElementById("the-epsilon");
const preview = document.getElementById("preview");
if (slider && typed && preview) {
  const values = slider.dataset.values.split(" ");
  let running = false;
  let again = false;

  async function draw() {
    if (running) { again = true; return; }
    running = true;
    const fields = new URLSearchParams(new FormData(typed.form));
    try {
      const answer = await fetch(`/preview?${fields}`, { credentials: "same-origin" });
      if (answer.ok) preview.innerHTML = await answer.text(); // made and escaped by the server
    } catch { /* the server has gone; the next page says so */ }
    running = false;
    if (again) { again = false; draw(); }
  }

  slider.addEventListener("input", () => {
    typed.value = values[slider.value];
    slider.setAttribute("aria-valuetext", `epsilon ${values[slider.value]}`);
    draw();
  });
  function follow() {
    const number = Number(typed.value.replace(",", "."));
    if (!(number > 0)) return;
    const away = values.map((value) => Math.abs(Math.log(Number(value) / number)));
    slider.value = away.indexOf(Math.min(...away));
    draw();
  }

  typed.addEventListener("input", follow);
  if (typed.value !== typed.defaultValue) follow(); // typed before this script was there
}

// The progress of a task.
const progress = document.getElementById("progress");
if (progress) {
  const bar = document.getElementById("bar");
  const step = document.getElementById("step");
  const ask = async () => {
    try {
      const answer = await fetch(`/job?id=${encodeURIComponent(progress.dataset.job)}`);
      const job = await answer.json();
      if (job.state !== "running") { location.reload(); return; }
      const share = job.share === null ? "" : `, ${Math.round(100 * job.share)}% of the file`;
      const said = `${job.step}${share}, ${job.seconds} s`;
      if (step.textContent !== said) step.textContent = said;
      if (job.share === null) bar.removeAttribute("value"); else bar.value = job.share;
    } catch {
      step.textContent = "The page does not answer any more. Start it again; nothing is paid for twice.";
    }
    setTimeout(ask, 250);
  };
  setTimeout(ask, 150);
}

// The slider of the explorer shows one row of its table.
const which = document.getElementById("which");
if (which) {
  const table = document.getElementById(which.dataset.rows);
  const heads = [...table.querySelectorAll("thead th")].map((cell) => cell.textContent);
  const at = document.getElementById("at");
  const show = () => {
    const rows = [...table.querySelectorAll("tbody tr")];
    rows.forEach((row, place) => row.classList.toggle("chosen", place === Number(which.value)));
    const cells = [...rows[which.value].cells].map((cell) => cell.textContent);
    at.textContent = cells.map((cell, place) => `${heads[place]} ${cell}`).join("; ");
    which.setAttribute("aria-valuetext", `epsilon ${cells[0]}`);
  };
  which.addEventListener("input", show);
  show();
}
