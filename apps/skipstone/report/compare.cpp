// skipstone compare: the records of `skipstone report` side by side.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/platform/files.h"
#include "commands.h"
#include "json/json.h"
#include "report/comparison.h"
#include "results/charts.h"
#include "results/fitted_grid.h"
#include "results/formats.h"
#include "terminal/output.h"

namespace cli {
namespace {

using report::Comparison;
using report::Source;

constexpr std::size_t most_records = 64;

struct CompareOptions {
  std::vector<std::string> records;
  std::string svg, html;
  bool json = false;
};

ExitCode compare(const CompareOptions& options) {
  if (options.records.size() > most_records) {
    fail(ExitCode::usage, "{} records are too many to compare; {} are possible", options.records.size(), most_records);
  }
  Output output(false);
  for (const std::string* file : {&options.svg, &options.html}) {
    if (!file->empty()) check_writable(*file);
  }
  std::vector<Source> sources;
  for (const std::string& path : options.records)
    sources.push_back({skipstone::platform::text_of(skipstone::platform::path_of(path).filename()), report::read_record_file(path)});
  const Comparison comparison = report::compare(sources);
  if (!options.svg.empty()) write_file(options.svg, bars_document(comparison.panels));
  if (!options.html.empty()) write_file(options.html, report::html_page(comparison));
  output.write(options.json ? dump(report::comparison_json(sources), 1) + '\n' : report::comparison_text(comparison, output_width()));
  return ExitCode::ok;
}

}  // namespace

void add_compare(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("compare", "Show the devices of several records of `report` side by side");
  const auto options = std::make_shared<CompareOptions>();
  command->add_option("RECORDS", options->records, "Records of `skipstone report`; ratios are to the first device")
      ->required()
      ->type_name("FILE");
  command->add_option("--svg", options->svg, "Draw bars into this file")->envname("SKIPSTONE_SVG")->type_name("FILE");
  command->add_option("--html", options->html, "Write tables and bars as a page that needs nothing besides")
      ->envname("SKIPSTONE_HTML")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "JSON instead of text, with every number")->envname("SKIPSTONE_JSON");
  command->footer(std::string("Example:\n  skipstone compare laptop.json desktop.json --html devices.html\n\n") + exit_code_help);
  command->callback([options, &code] { code = compare(*options); });
}

}  // namespace cli
