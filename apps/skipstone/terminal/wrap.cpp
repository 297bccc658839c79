#include "terminal/wrap.h"

#include <algorithm>
#include <vector>

namespace cli {
namespace {

/// The words of a text, and where `longest` bytes do not hold one, its parts up to and with a comma.
std::vector<std::string_view> words_of(std::string_view text, std::size_t longest) {
  std::vector<std::string_view> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return words;
    std::string_view word = text.substr(0, text.find(' '));
    if (word.size() > longest) {
      const std::size_t comma = word.rfind(',', longest - 1);
      if (comma != std::string_view::npos) word = word.substr(0, comma + 1);
    }
    words.push_back(word);
    text.remove_prefix(word.size());
  }
}

}  // namespace

std::string wrap(std::string_view text, std::size_t width, std::size_t used, std::size_t indent) {
  std::string lines;
  std::size_t column = used;
  bool first_of_line = true;
  const char* before = text.data();  // the end of the last word: parts of one word have no blank between them
  for (const std::string_view word : words_of(text, std::max<std::size_t>(width - indent, 1))) {
    const std::size_t blank = first_of_line || before == word.data() ? 0 : 1;
    if (!first_of_line && column + blank + word.size() > width) {
      lines.append("\n").append(indent, ' ');
      column = indent;
    } else {
      lines.append(blank, ' ');
      column += blank;
    }
    lines.append(word);
    column += word.size();
    before = word.data() + word.size();
    first_of_line = false;
  }
  return lines;
}

}  // namespace cli
