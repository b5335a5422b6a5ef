// How the search of the site orders its results: Sphinx's weights, and more for pages whose titles have the words of the
// query. Guides and explanations precede the CHANGELOG. Sphinx copies this file into language_data.js.
var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    const query = new URLSearchParams(window.location.search).get("q") || "";
    const words = query.toLowerCase().match(/\w{3,}/g) || [];
    const heads = title.toLowerCase();
    const found = words.filter((word) => heads.includes(word.slice(0, Math.max(4, word.length - 3))));
    const share = found.length / Math.max(1, words.length);
    return score + 20 * share - (page === "CHANGELOG" ? 10 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
