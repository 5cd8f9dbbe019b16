// The search of the book. All words must stand in a section; sections that have them in their title come first.
// The sections are loaded when somebody begins to search, and nothing is asked of a server. Without scripts
// there is no field, and nothing is missing but this.
"use strict";
(() => {
    const MOST = 20, BEFORE = 30, AROUND = 110; // results; characters of a text before the word, and in all
    const root = document.currentScript.dataset.root;
    const contents = document.getElementById("contents");
    const made = (kind, more) => Object.assign(document.createElement(kind), more);
    const field = made("input", { type: "search", placeholder: "Search  /", className: "search" });
    field.setAttribute("aria-label", "Search the book");
    const list = made("ol", { className: "found" });
    list.setAttribute("aria-live", "polite");
    contents.querySelector(".name").after(field, list);

    let sections;
    const load = () => {
        if (sections) {
            return;
        }
        sections = [];
        const script = made("script", { src: root + "sections.js" });
        script.onload = () => {
            sections = window.nestBook.map(([address, page, title, text]) =>
                ({ address, page, title, text, head: `${page} ${title}`.toLowerCase(), low: text.toLowerCase() }));
            show();
        };
        document.head.append(script);
    };

    // How well a section answers: a word counts more in the section's own title; 0 if one is missing.
    const worth = (section, words) => {
        const title = section.title.toLowerCase();
        let sum = 0;
        for (const word of words) {
            const value = title.includes(word) ? 100
                : section.head.includes(word) ? 10
                : section.low.includes(word) ? 1 : 0;
            if (value === 0) {
                return 0;
            }
            sum += value;
        }
        return sum;
    };

    const row = (section, words) => {
        const link = made("a", { href: root + section.address });
        const title = section.title === section.page ? section.title : `${section.page}: ${section.title}`;
        const word = words.reduce((a, b) => (b.length > a.length ? b : a));
        const from = section.low.lastIndexOf(" ", Math.max(0, section.low.indexOf(word) - BEFORE)) + 1;
        link.append(made("b", { textContent: title }),
                    made("span", { textContent: section.text.slice(from, from + AROUND) + "\u2026" }));
        const item = made("li");
        item.append(link);
        return item;
    };

    const show = () => {
        const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
        const found = words.length === 0 ? [] : sections
            .map((section) => [worth(section, words), section])
            .filter(([value]) => value > 0)
            .sort(([a], [b]) => b - a)
            .slice(0, MOST);
        list.replaceChildren(...found.map(([, section]) => row(section, words)));
        if (words.length > 0 && found.length === 0 && sections.length > 0) {
            list.append(made("li", { textContent: "Nothing has all of these words." }));
        }
        contents.classList.toggle("searching", words.length > 0);
    };

    field.addEventListener("focus", load);
    field.addEventListener("input", () => { load(); show(); });
    document.addEventListener("keydown", (event) => {
        if (event.key === "/" && document.activeElement !== field && !event.ctrlKey && !event.metaKey) {
            event.preventDefault();
            field.focus();
        } else if (event.key === "Escape" && document.activeElement === field) {
            field.value = "";
            show();
        }
    });
})();
