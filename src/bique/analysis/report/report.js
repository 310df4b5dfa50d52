// The one thing that needs a script: sorting. Without it the tables stand as they came.
"use strict";
document.documentElement.classList.add("js");

// every digit of a figure is in data-value; "" is missing and comes last whichever way is sorted
function value(row, column) {
  const text = row.cells[column].dataset.value;
  return text === "" ? null : isNaN(text) ? text : Number(text);
}

function compare(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}

function sort(button) {
  const heading = button.closest("th");
  const body = heading.closest("table").tBodies[0];
  const rows = Array.from(body.rows);
  const column = heading.cellIndex;
  const numbers = rows.some((row) => typeof value(row, column) === "number");
  const before = heading.getAttribute("aria-sort");
  // figures begin with the largest, names with the first; a second press turns round
  const up = before === "none" ? !numbers : before === "descending";
  rows.sort((one, other) => {
    const a = value(one, column);
    const b = value(other, column);
    if (a === null || b === null) return (a === null) - (b === null);
    return up ? compare(a, b) : compare(b, a);
  });
  for (const other of heading.parentElement.cells) other.setAttribute("aria-sort", "none");
  heading.setAttribute("aria-sort", up ? "ascending" : "descending");
  body.append(...rows);
}

for (const button of document.querySelectorAll(".sortable th button")) {
  button.addEventListener("click", () => sort(button));
}
