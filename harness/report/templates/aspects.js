{# The script of the page of aspects: opens the findings that a link leads to. -#}
"use strict";
(() => {
const open = () => {
  const target = document.getElementById(location.hash.slice(1)), box = target?.closest("details");
  if (!box) return;
  box.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", open);
document.addEventListener("click", (event) => {
  if (event.target.closest("a[href^='#']")?.hash === location.hash) open();
});
open();
})();
