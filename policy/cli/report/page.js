// A list for each thing that rows can be chosen by, and the number of items that are shown.
const rows = [...document.querySelectorAll("tr[data-marks]")];
const marks = new Map(rows.map((row) => [row, JSON.parse(row.dataset.marks)]));
const items = [...document.querySelectorAll("li.beside")];
const form = document.createElement("form");
const shown = document.createElement("output");
for (const name of Object.keys([...marks.values()][0])) {
  const label = document.createElement("label");
  const list = document.createElement("select");
  const values = new Set([...marks.values()].flatMap((mark) => mark[name]));
  list.name = name;
  list.add(new Option("all", ""));
  for (const value of values) list.add(new Option(value, value));
  label.append(`${name} `, list);
  form.append(label);
}
form.append(shown);
document.querySelector("h1").after(form);
function show() {
  const wanted = [...form.elements].filter((each) => each.name && each.value);
  for (const row of rows)
    row.hidden = !wanted.every((each) => marks.get(row)[each.name].includes(each.value));
  for (const item of items) {
    const own = rows.filter((row) => item.contains(row));
    item.hidden = own.length > 0 && own.every((row) => row.hidden);
  }
  for (const part of document.querySelectorAll("section"))
    part.hidden = part.querySelector("li.beside") !== null
      && !part.querySelector("li.beside:not([hidden])");
  shown.value = `${items.filter((item) => !item.hidden).length} of ${items.length} shown`;
}
form.addEventListener("change", show);
show();
