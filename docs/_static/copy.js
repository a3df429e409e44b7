// A button that copies a block of code; prompts and output are left out.
"use strict";
addEventListener("DOMContentLoaded", () => {
  if (!navigator.clipboard) return; // pages opened from a file have none in some browsers
  for (const block of document.querySelectorAll("div.highlight")) {
    const pre = block.querySelector("pre");
    if (!pre) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const lines = pre.innerText.replace(/\n$/, "").split("\n");
      const typed = lines.filter((line) => /^(\$|>>>|\.\.\.) ?/.test(line));
      const text = typed.length ? typed.map((line) => line.replace(/^(\$|>>>|\.\.\.) ?/, "")).join("\n") : lines.join("\n");
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.append(button);
  }
});
