// How --help looks: words wrapped to the terminal, what most users need first.
#pragma once

#include <CLI/Formatter.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

/// Paragraphs filled to `width`. Lines that begin with blanks stay lines of their own: tables, whose text continues under its column;
/// commands to copy (skipstone, curl) are never broken.
std::string wrap_notes(std::string_view text, std::size_t width);

/// The width of standard output's terminal, from 40 to 120 columns; 80 where there is none.
std::size_t help_width();

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::size_t width);

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  /// Type and default of the value.
  std::string make_option_opts(const CLI::Option* option) const override;
  /// The text, and in brackets the environment variable.
  std::string make_option_desc(const CLI::Option* option) const override;

 private:
  std::string row(const std::string& name, const std::string& text) const;
  std::size_t width_;
};

}  // namespace cli
