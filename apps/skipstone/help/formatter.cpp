#include "help/formatter.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <vector>

#include "base/platform/console.h"
#include "options/engine_options.h"
#include "options/environment.h"
#include "terminal/wrap.h"

namespace cli {
namespace {

constexpr std::size_t least_width = 40, most_width = 120, width_of_pipes = 80;

bool is_command(std::string_view line) { return line.find("  skipstone ") == 0 || line.find("  curl ") == 0; }

/// Where the text of a table's row begins: after the first gap of several blanks, else two blanks after its indentation.
std::size_t hanging_indent(std::string_view line) {
  const std::size_t first = line.find_first_not_of(' '), gap = line.find("  ", first);
  const std::size_t text = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  return text == std::string_view::npos || text > 24 ? first + 2 : text;
}

}  // namespace

std::string wrap_notes(std::string_view text, std::size_t width) {
  std::string result, paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) result += wrap(paragraph, width, 0, 0) + "\n";
    paragraph.clear();
  };
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty() && line.front() != ' ') {
      paragraph.append(paragraph.empty() ? "" : " ").append(line);
      if (line.back() == ':') end_paragraph();
      continue;
    }
    end_paragraph();
    if (line.empty() || line.size() <= width || is_command(line)) {
      result.append(line).append("\n");
    } else {
      // The name with its gap stays as it is; the rest is filled under its column.
      const std::size_t first = line.find_first_not_of(' '), indent = hanging_indent(line), kept = indent == first + 2 ? first : indent;
      result.append(line.substr(0, kept)).append(wrap(line.substr(kept), width, kept, indent)).append("\n");
    }
  }
  end_paragraph();
  return result;
}

std::size_t help_width() {
  const std::size_t columns = skipstone::platform::columns(skipstone::platform::Stream::output);
  return columns == 0 ? width_of_pipes : std::clamp(columns, least_width, most_width);
}

HelpFormatter::HelpFormatter(std::size_t width) : width_(width) { column_width(std::min<std::size_t>(34, width / 3)); }

std::string HelpFormatter::row(const std::string& name, const std::string& text) const {
  const std::size_t column = get_column_width();
  std::string line = "  " + wrap(name, width_, 2, 6);
  if (text.empty()) return line + "\n";
  const std::size_t last = line.size() - (line.rfind('\n') + 1);  // npos + 1 is 0: one line
  if (line.find('\n') == std::string::npos && last + 2 <= column) {
    line.append(column - last, ' ');
  } else {
    line.append("\n").append(column, ' ');
  }
  return line + wrap(text, width_, column, column) + "\n";
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  if (mode == CLI::AppFormatMode::Sub) return make_expanded(app);
  std::string text = make_description(app) + make_usage(app, std::move(name)) + make_positionals(app);
  std::vector<std::string> groups = app->get_groups();
  std::stable_partition(groups.begin(), groups.end(), [](const std::string& group) { return group != advanced_group; });
  for (const std::string& group : groups) {
    const auto options =
        app->get_options([&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
    if (!group.empty() && !options.empty()) text += make_group(group, false, options);
  }
  return text + make_subcommands(app, mode) + "\n" + make_footer(app);
}

std::string HelpFormatter::make_description(const CLI::App* app) const { return wrap(app->get_description(), width_, 0, 0) + "\n"; }

std::string HelpFormatter::make_footer(const CLI::App* app) const { return wrap_notes(app->get_footer(), width_); }

std::string HelpFormatter::make_subcommand(const CLI::App* command) const { return row(command->get_name(), command->get_description()); }

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  return row(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  std::string text;
  if (option->get_type_size() != 0) {
    text += " " + option->get_type_name();
    if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
  }
  return text + (option->get_required() ? " (required)" : "");
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  const std::string name = environment::name_of(option);
  return option->get_description() + (name.empty() ? "" : " [" + name + "]");
}

}  // namespace cli
