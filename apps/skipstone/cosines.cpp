#include "cosines.h"

#include <fmt/format.h>

#include <vector>

#include "bench/plot.h"
#include "bench/prompts.h"
#include "cosine_report.h"
#include "exit_code.h"
#include "interrupt.h"
#include "json/json.h"
#include "output.h"
#include "progress.h"
#include "result_file.h"
#include "skipstone/skipstone_experimental.hpp"

namespace cli {

void print_cosines(const std::string& model, const EngineOptions& engine_options, const CosineOptions& options, bool json) {
  if (options.prompts.empty()) fail(ExitCode::usage, "--cosine needs texts to read; name a file of them with --prompts FILE");
  if (options.limit < 0) fail(ExitCode::usage, "--limit {} is no number of prompts; 0 takes all", options.limit);
  std::vector<std::string> prompts;
  for (bench::Prompt& prompt : bench::read_prompts(options.prompts, static_cast<std::size_t>(options.limit)))
    prompts.push_back(std::move(prompt.text));
  if (!options.plot.empty()) check_writable(options.plot);
  interrupt::install();
  const skipstone::Engine engine = load_engine(model, engine_options);
  std::string report;
  try {
    Progress progress;
    report = skipstone::cosines(engine, prompts, progress.until_interrupted());
  } catch (const skipstone::error& error) {
    if (error.status() == SKIPSTONE_CANCELLED) fail(ExitCode::interrupted, "{}", error.what());
    throw;
  }
  const auto document = skipstone::Json::parse(report);
  if (!options.plot.empty()) write_file(options.plot, bench::svg(cosine_plot(document)));
  Output output(false);
  output.write(json ? report + "\n" : cosine_text(document));
  check_validation(engine);
}

}  // namespace cli
