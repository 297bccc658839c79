#include <fmt/format.h>

#include "report/comparison.h"
#include "results/charts.h"
#include "results/picture.h"

namespace cli::report {
namespace {

// A picture is not drawn smaller than it can be read, but scrolls in its box, as a table does.
constexpr const char* page_style =
    ":root { color-scheme: light dark; --ink: #1f2328; --paper: #ffffff; --line: #d0d7de; --shade: #f3f5f8; --alarm: #fff8c5; }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --line: #3d444d; --shade: #1b2128; "
    "--alarm: #3a2d05; } }\n"
    "body { margin: 1.5rem auto; max-width: 64rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: "
    "var(--paper); overflow-wrap: anywhere; }\n"
    "h1 { font-size: 1.5rem; }\nh2 { font-size: 1.15rem; margin-top: 2rem; }\n"
    ".conclusion { font-size: 1.05rem; }\n"
    ".warning { background: var(--alarm); border: 1px solid var(--line); border-radius: 6px; padding: 0.5rem 0.8rem; }\n"
    ".scroll { overflow-x: auto; margin: 1.2rem 0; }\n"
    "table { border-collapse: collapse; font-size: 0.87rem; font-variant-numeric: tabular-nums; overflow-wrap: normal; }\n"
    "caption { text-align: left; padding-bottom: 0.4rem; font-weight: 600; max-width: calc(100vw - 2rem); }\n"
    "th, td { padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; "
    "white-space: nowrap; }\n"
    "thead th { background: var(--shade); }\n"
    ".words { text-align: left; }\n"
    "tbody th { font-weight: 600; white-space: normal; min-width: 9rem; }\n"
    "figure { margin: 1.5rem 0; }\nfigcaption { font-weight: 600; padding-bottom: 0.4rem; }\n"
    "figure svg { display: block; width: 100%; min-width: 640px; height: auto; }\n";

std::string cell(const Table& table, std::size_t column, const std::string& text, const char* element, const char* scope) {
  return fmt::format("<{0}{1}{2}>{3}</{0}>", element, scope, column < table.left ? " class=\"words\"" : "", markup(text));
}

std::string table_element(const Table& table) {
  std::string out = fmt::format("<div class=\"scroll\" tabindex=\"0\"><table>\n<caption>{}</caption>\n", markup(table.caption));
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    out += row == 0 ? "<thead><tr>" : row == 1 ? "<tbody><tr>" : "<tr>";
    for (std::size_t column = 0; column < table.rows[row].size(); ++column) {
      const std::string& text = table.rows[row][column];
      if (row == 0) {
        out += cell(table, column, text.empty() ? "no." : text, "th", " scope=\"col\"");
      } else if (column == 1) {
        out += cell(table, column, text, "th", " scope=\"row\"");
      } else {
        out += cell(table, column, text, "td", "");
      }
    }
    out += row == 0 ? "</tr></thead>\n" : "</tr>\n";
  }
  return out + (table.rows.size() > 1 ? "</tbody>" : "") + "</table></div>\n";
}

}  // namespace

std::string html_page(const Comparison& comparison) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Devices compared by skipstone</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<main>\n<h1>Devices compared</h1>\n",
      page_style, picture_style());
  for (const std::string& sentence : comparison.conclusions) page += fmt::format("<p class=\"conclusion\">{}</p>\n", markup(sentence));
  for (const std::string& sentence : comparison.warnings) {
    page += fmt::format("<p class=\"warning\" role=\"note\"><strong>Warning:</strong> {}</p>\n", markup(sentence));
  }
  for (const Table& table : comparison.tables) page += table_element(table);
  if (!comparison.notes.empty()) {
    page += "<h2>Notes</h2>\n<ul>\n";
    for (const std::string& note : comparison.notes) page += fmt::format("<li>{}</li>\n", markup(note));
    page += "</ul>\n";
  }
  if (!comparison.panels.empty()) page += "<h2>Bars</h2>\n<p>A thin line in a bar goes from the lowest to the highest of its runs.</p>\n";
  for (std::size_t i = 0; i < comparison.panels.size(); ++i) {
    const Panel& panel = comparison.panels[i];
    page += fmt::format("<figure>\n<figcaption>{}</figcaption>\n<div class=\"scroll\" tabindex=\"0\">{}</div>\n</figure>\n",
                        markup(panel.title), bars_element(panel, fmt::format("bars{}", i + 1)));
  }
  return page + "</main>\n</body>\n</html>\n";
}

}  // namespace cli::report
