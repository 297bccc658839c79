// What all pictures share: an SVG element with a name and a description for screen readers, and one style.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cli {

struct Picture {
  double width = 0, height = 0;
  std::string title, description;
  std::string drawing;
  std::string id = "picture";  ///< of the element's parts: another one for each picture of a page
};

/// For a page that has picture_style().
std::string picture_element(const Picture& picture);

/// With its style and a background, light or dark as the reader prefers.
std::string picture_document(const Picture& picture);

/// CSS: the contents of picture.css.
std::string_view picture_style();

/// A text element of one of the style's classes. `more`: further attributes.
std::string label(double x, double y, std::string_view style, std::string_view words, std::string_view anchor = "start",
                  std::string_view more = "");

/// The classes of each series: a colour of its own for eight, then the same ones once more, "again". A series `auto` has the accent and is
/// bolder, and the others are quieter beside it.
std::vector<std::string> series_classes(const std::vector<std::string>& names);

/// Whether a series shows the drafter `auto`, perhaps with values: "auto:k=4".
bool is_auto(std::string_view name);

/// Escapes XML and HTML special characters and quotes as entities.
std::string markup(std::string_view text);

/// About three significant digits.
std::string value_text(double value);

}  // namespace cli
