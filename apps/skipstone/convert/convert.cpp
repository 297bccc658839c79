// skipstone convert: a Hugging Face checkpoint as a GGUF file.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "commands.h"
#include "convert/tensor_types.h"
#include "json/json.h"
#include "options/number_option.h"
#include "skipstone/tools.hpp"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli {
namespace {

using skipstone::Json;

struct ConvertOptions {
  std::string folder, output, type = "f16", pre;
  std::uint32_t exit_layer = 0;
  bool force = false;
};

/// A summary of the written file, read from the file itself.
std::string written_text(const std::string& path) {
  skipstone_inspect_params params = skipstone::inspect_params();
  params.model_path = path.c_str();
  const Json document = Json::parse(skipstone::inspect(params));
  std::string text = fmt::format("{}: {}, {} tensors ({})", document["path"].get<std::string>(), bytes_text(document["bytes"]),
                                 document["tensors"].size(), tensor_types_text(document["tensor_types"]));
  for (const Json& pair : document["metadata"]) {
    if (pair["key"] == "skipstone.exit_layer") text += ", exit layer " + pair["value"].get<std::string>();
  }
  return text + "\n";
}

void convert(const ConvertOptions& options) {
  interrupt::install();
  skipstone_convert_params params = skipstone::convert_params();
  params.checkpoint_path = options.folder.c_str();
  params.output_path = options.output.c_str();
  params.type = options.type.c_str();
  params.exit_layer = options.exit_layer;
  params.pre_tokenizer = options.pre.c_str();
  params.overwrite = options.force ? 1 : 0;
  try {
    Progress progress;
    skipstone::convert(params, progress.until_interrupted());
  } catch (const skipstone::error& error) {
    fail(exit_code(error.status(), true), "{}", error.what());
  }
  Output output(false);
  output.write(written_text(options.output));
}

}  // namespace

void add_convert(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("convert", "Make a GGUF model file from a Hugging Face checkpoint; needs no device");
  const auto options = std::make_shared<ConvertOptions>();
  command->add_option("FOLDER", options->folder, "The checkpoint: config.json, *.safetensors and a tokenizer")->required();
  command->add_option("OUTPUT", options->output, "The GGUF file to write")->required();
  command->add_option("--type", options->type, "Type of the weights: f16, q8_0, q4_k_m, ...; see below")
      ->capture_default_str()
      ->type_name("TYPE");
  add_number(*command, "--exit-layer", options->exit_layer,
             "Layer after which the model was trained to exit early (LayerSkip), counted from 1; 0: what the checkpoint says")
      ->capture_default_str()
      ->type_name("LAYER");
  command
      ->add_option("--pre", options->pre,
                   "How the tokenizer cuts words (tokenizer.ggml.pre), if tokenizer.json says otherwise; \"help\" lists the names")
      ->type_name("NAME");
  command->add_flag("--force", options->force, "Replace OUTPUT where it is there already");
  command->footer(
      std::string("FOLDER is what `git clone` or `huggingface-cli download` of a model's repository gives; its weights have to be\n"
                  "safetensors. Families: ") +
      skipstone_architectures() +
      ".\n"
      "(llama: Llama 1 to 3 and what is built like them.) Of multimodal models the part that reads and writes text is converted.\n"
      "The file also works in other programs that read GGUF.\n\n" +
      tensor_types_help +
      "\n"
      "Example:\n  skipstone convert ~/models/TinyLlama-1.1B-Chat tinyllama-q8_0.gguf --type q8_0\n\n" +
      exit_code_help);
  command->callback([options, &code] {
    convert(*options);
    code = ExitCode::ok;
  });
}

}  // namespace cli
