#include "results/picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.h"

namespace cli {
namespace {

constexpr std::size_t colours = 8;

std::string element(const Picture& picture, std::string_view before) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" "
      "aria-labelledby=\"{2}-title {2}-desc\">\n<title id=\"{2}-title\">{3}</title>\n<desc id=\"{2}-desc\">{4}</desc>\n{5}{6}</svg>\n",
      picture.width, picture.height, picture.id, markup(picture.title), markup(picture.description), before, picture.drawing);
}

}  // namespace

std::string picture_element(const Picture& picture) { return element(picture, ""); }

std::string picture_document(const Picture& picture) {
  return element(picture, fmt::format("<style>\n{}</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n", picture_style()));
}

std::string label(double x, double y, std::string_view style, std::string_view words, std::string_view anchor, std::string_view more) {
  const std::string of_class = style.empty() ? "" : fmt::format(" class=\"{}\"", style);
  return fmt::format("<text{} x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", of_class, x, y, anchor, more, markup(words));
}

bool is_auto(std::string_view name) { return name.substr(0, name.find(':')) == "auto"; }

std::vector<std::string> series_classes(const std::vector<std::string>& names) {
  const bool accent = std::ranges::any_of(names, is_auto);
  const std::size_t first = accent ? 1 : 0, own = colours - first;
  std::vector<std::string> classes;
  std::size_t others = 0;
  for (const std::string& name : names) {
    if (is_auto(name)) {
      classes.emplace_back("c0 auto");
      continue;
    }
    classes.push_back(fmt::format("c{}{}{}", first + others % own, accent ? " quiet" : "", others < own ? "" : " again"));
    ++others;
  }
  return classes;
}

std::string markup(std::string_view text) {
  std::string out;
  // Characters that XML does not allow, not even as references, are written out.
  for (const char c : skipstone::escaped(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string value_text(double value) { return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 1000 ? 1 : 0); }

}  // namespace cli
