// skipstone pull: the files of a model, by its name on a hub.
#include "pull/pull.h"

#include <CLI/App.hpp>
#include <memory>

#include "commands.h"
#include "pull/hub_cache.h"
#include "terminal/exit_code.h"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli {
namespace pull {

std::string cached_or_fetched(const std::string& name) {
  const ModelName model = ModelName::parse(name);
  const HubCache cache(model);
  const std::vector<std::string> files = cache.find(model.or_usual());
  if (!files.empty()) return files.front();
  try {
    return fetch(model, "", Version::any).front();
  } catch (const Failure& failure) {
    if (failure.code() == ExitCode::interrupted || cache.find(model).empty()) throw;
    return cache.find_instead(model, failure.what()).front();
  }
}

}  // namespace pull

void add_pull(CLI::App& app, ExitCode& code) {
  struct Options {
    std::string model, hub;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("pull", "Fetch a model by its name on a hub");
  command
      ->add_option("MODEL", options->model,
                   "OWNER/NAME of a repository with GGUF files; :QUANT chooses one, as :Q8_0; default: Q4_K_M, or the first")
      ->required()
      ->type_name("OWNER/NAME[:QUANT]");
  command->add_option("--hub", options->hub, "Address of the hub; default: https://huggingface.co")
      ->envname("HF_ENDPOINT")
      ->type_name("URL");
  command->footer(
      "The path of the file, of a split one that of its first part, goes to standard output. Other commands take hf:OWNER/NAME:QUANT\n"
      "for it. Files are kept in the hub's own cache: HF_HUB_CACHE, HF_HOME/hub, or ~/.cache/huggingface/hub. HF_TOKEN holds a token for\n"
      "models that are not shown to everyone. A fetch that was ended continues at the next start.\n"
      "\nExample:\n  skipstone pull bartowski/SmolLM2-135M-Instruct-GGUF:Q8_0\n  skipstone run -m "
      "hf:bartowski/SmolLM2-135M-Instruct-GGUF:Q8_0 \"Once\"\n\n" +
      std::string(exit_code_help));
  command->callback([options, &code] {
    interrupt::install();
    Output output(false);
    const std::vector<std::string> files = pull::fetch(pull::ModelName::parse(options->model), options->hub, pull::Version::newest);
    output.write(files.front() + '\n');
    code = ExitCode::ok;
  });
}

}  // namespace cli
