#include <fmt/format.h>

#include "report/comparison.h"
#include "results/charts.h"

namespace cli::report {
namespace {

constexpr const char* page_style =
    ":root { color-scheme: light dark; --ink: #1c1c1c; --paper: #ffffff; --line: #d0d4da; --shade: #f3f5f8; }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #17191c; --line: #3b4047; --shade: #22262b; } }\n"
    "body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: "
    "var(--paper); }\n"
    "h1 { font-size: 1.5rem; }\nh2 { font-size: 1.15rem; margin-top: 2rem; }\n"
    ".scroll { overflow-x: auto; margin: 1.5rem 0; }\n"
    "table { border-collapse: collapse; font-size: 0.87rem; font-variant-numeric: tabular-nums; }\n"
    "caption { text-align: left; padding-bottom: 0.4rem; font-weight: 600; }\n"
    "th, td { padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }\n"
    "thead th { background: var(--shade); white-space: nowrap; }\n"
    ".words { text-align: left; }\n"
    "tbody th { font-weight: 600; }\n"
    "figure { margin: 1.5rem 0; }\nfigcaption { font-weight: 600; padding-bottom: 0.4rem; }\n"
    "figure svg { width: 100%; height: auto; }\n";

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
      page_style, bar_style);
  for (const Table& table : comparison.tables) page += table_element(table);
  if (!comparison.notes.empty()) {
    page += "<h2>Notes</h2>\n<ul>\n";
    for (const std::string& note : comparison.notes) page += fmt::format("<li>{}</li>\n", markup(note));
    page += "</ul>\n";
  }
  page += "<h2>Bars</h2>\n";
  for (const Panel& panel : comparison.panels) {
    page += fmt::format("<figure>\n<figcaption>{} ({})</figcaption>\n{}</figure>\n", markup(panel.title), markup(panel.unit),
                        bars_element(panel));
  }
  return page + "</main>\n</body>\n</html>\n";
}

}  // namespace cli::report
