#include "bench/options.h"

#include <fmt/format.h>

#include "bench/preset.h"
#include "commands.h"
#include "options/environment.h"
#include "options/number_option.h"
#include "results/formats.h"

namespace cli::bench {
namespace {

void add_model_options(CLI::App& command, BenchOptions& o) {
  command
      .add_option("-m,--model,MODEL", o.models,
                  "Model files (GGUF), measured one after the other: several, or a list with commas; default: the bundled model")
      ->envname("SKIPSTONE_MODEL")
      ->type_name("FILE");
  o.synthetic_option =
      command
          .add_option("--synthetic", o.synthetic,
                      fmt::format("Random weights of a published shape, made on the device, NAME:TYPE[,TYPE...] as llama-2-7b:q4_0,q8_0;\n"
                                  "names: {}",
                                  skipstone_synthetic_models()))
          ->envname("SKIPSTONE_SYNTHETIC")
          ->allow_extra_args(false)
          ->type_name("LIST");
  o.generate_option =
      command
          .add_option(
              "-n,--predict,--n-gen", o.generate,
              "Tokens to generate one by one (test tg...), a list; where drafters are measured most tokens for each prompt, at least "
              "2, default 128")
          ->envname("SKIPSTONE_PREDICT")
          ->allow_extra_args(false)
          ->type_name("LIST");
  add_number(command, "-r,--repeat,--repetitions", o.repeats, "How often everything is run; default: 5, and 1 with --prompts")
      ->envname("SKIPSTONE_REPEAT")
      ->type_name("N");
}

void add_speed_options(CLI::App& command, BenchOptions& o) {
  const char* group = "Tests (without prompts)";
  const auto list = [&](const char* names, std::vector<std::string>& values, const char* environment, const std::string& text) {
    return command.add_option(names, values, text)->envname(environment)->allow_extra_args(false)->type_name("LIST")->group(group);
  };
  o.test_options.push_back(
      list("-p,--n-prompt", o.tests.prompt, "SKIPSTONE_N_PROMPT", "Tokens of a prompt read in one go (test pp...); 0: none"));
  o.test_options.push_back(
      list("--pg", o.tests.pairs, "SKIPSTONE_PG", "P,N: a prompt of P tokens and N more in one time; -pg too; may be given several times"));
  o.test_options.push_back(
      list("--rows", o.tests.rows, "SKIPSTONE_ROWS", "Time passes of these numbers of rows, and divide by the time of one row: v(n)"));
  o.test_options.push_back(list("-d,--depth,--n-depth", o.tests.depth, "SKIPSTONE_DEPTH",
                                "Tokens that are in the cache already, for each test above; default: 0"));
  command.add_flag("--no-warmup", o.no_warm_up, "Do not run every test once before it counts")->group(group);
}

void add_sweep_options(CLI::App& command, BenchOptions& o) {
  const char* group = "Drafters";
  CLI::Option* const prompts = command.add_option("--prompts", o.prompts, "Texts to continue, see below")
                                   ->envname("SKIPSTONE_PROMPTS")
                                   ->type_name("FILE")
                                   ->group(group);
  CLI::Option* const draft =
      command
          .add_option(
              "--draft", o.drafters,
              "Drafters, NAME[:key=value,...] each (`skipstone help drafters`): a list separated by commas or blanks, or --draft several\n"
              "times; `all`: every lossless one that the model can use; `none`, plain decoding, is always measured; default: auto")
          ->envname("SKIPSTONE_DRAFT")
          ->allow_extra_args(false)
          ->type_name("LIST")
          ->group(group);
  CLI::Option* const preset =
      command.add_option("--preset", o.preset, fmt::format("A paper's experiment instead of --draft: {}", preset_names()))
          ->envname("SKIPSTONE_PRESET")
          ->type_name("NAME")
          ->group(group);
  CLI::Option* const plot =
      command.add_option("--plot", o.plot, "What the preset plots, as SVG")->envname("SKIPSTONE_PLOT")->type_name("FILE")->group(group);
  CLI::Option* const skip_set =
      command
          .add_option("--skip-set", o.skip_set,
                      "What the presets of Draft & Verify skip, as in skip:SET; default: what ASD skips on the first prompt")
          ->envname("SKIPSTONE_SKIP_SET")
          ->type_name("SET")
          ->group(group);
  CLI::Option* const limit =
      add_number(command, "--limit", o.limit,
                 fmt::format("Only the first N prompts of the file, with --preset {} of each task; 0: all", task_preset))
          ->envname("SKIPSTONE_LIMIT")
          ->capture_default_str()
          ->type_name("N")
          ->group(group);
  CLI::Option* const read_once =
      command
          .add_flag("--read-once", o.read_once,
                    "Read each prompt once and copy its keys and values for every drafter: to compare texts, not prompts' speed")
          ->envname("SKIPSTONE_READ_ONCE")
          ->group(group);
  CLI::Option* const acceptance =
      add_number(command, "--synthetic-acceptance", o.acceptance,
                 "Drafts are accepted by these probabilities, of the 1st, 2nd, ... draft given those before it, instead of by the model:\n"
                 "what the runtime makes of such drafts; without --prompts, after -p made-up tokens, also with --synthetic")
          ->envname("SKIPSTONE_SYNTHETIC_ACCEPTANCE")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("LIST")
          ->group(group);
  CLI::Option* const save_tokens =
      command
          .add_option("--save-tokens", o.save_tokens, "Plain decoding's tokens, as JSON lines {\"prompt\", \"prompt_tokens\", \"tokens\"}")
          ->envname("SKIPSTONE_SAVE_TOKENS")
          ->type_name("FILE")
          ->group(group);
  environment::set_exclusive({prompts, o.synthetic_option});
  for (CLI::Option* test : o.test_options) {
    environment::set_exclusive({prompts, test});
    environment::set_exclusive({preset, test});
  }
  for (CLI::Option* test : o.test_options) {
    if (test != o.test_options.front()) environment::set_exclusive({acceptance, test});
  }
  environment::set_exclusive({preset, draft});
  environment::set_exclusive({acceptance, save_tokens});
  for (CLI::Option* of_preset : {plot, skip_set}) environment::set_needs(of_preset, {preset});
  for (CLI::Option* of_texts : {limit, read_once}) environment::set_needs(of_texts, {prompts});
  for (CLI::Option* of_drafters : {draft, save_tokens}) environment::set_needs(of_drafters, {prompts, acceptance});
  add_draft_options(command, o.drafting);
  add_rounds_option(command, o.sampling);
  add_verify_option(command, o.sampling);
  for (CLI::Option* of_texts : add_grammar_options(command, o.fitting, text_grammar_group)) environment::set_needs(of_texts, {prompts});
}

}  // namespace

void add_options(CLI::App& command, BenchOptions& o) {
  add_model_options(command, o);
  add_speed_options(command, o);
  add_sweep_options(command, o);
  add_engine_options(command, o.engine);
  add_sampling_options(command, o.sampling, "Sampling");
  const char* group = "Output";
  o.format_option = command.add_option("--format", o.format, fmt::format("{}; default: md", format_names))
                        ->envname("SKIPSTONE_FORMAT")
                        ->type_name("FORMAT")
                        ->group(group);
  command.add_flag("--json", o.json, "The same as --format json: every number, of every run")->envname("SKIPSTONE_JSON")->group(group);
  command
      .add_option("-o,--output", o.output,
                  "Write the result to FILE, and a table to standard output; the name of a format is that format instead (-o json)")
      ->envname("SKIPSTONE_OUTPUT")
      ->type_name("FILE")
      ->group(group);
  command.footer(
      "Without prompts and without tests, `auto` is compared with plain decoding on bundled prompts (edits of code). llama-bench's tests\n"
      "are -p 512 -n 128. Lists are separated by commas; all tests are run after each depth of -d. Tests are run in turn, so that what\n"
      "slows the machine down meets all of them. `bandwidth` is what a token reads of weights and KV cache by its time, as a share of\n"
      "what the device copies. Tables fit the terminal, or 100 columns; --json has all numbers.\n\n" +
      drafters_note() +
      "\nPrompts: .jsonl has one on each line, a JSON string or an object with \"prompt\" (HumanEval), \"question\" (GSM8K), \"turns\"\n"
      "(MT-bench, the first one) or \"text\"; .txt is one prompt. Both may be compressed (.gz). They are continued as they are, without\n"
      "a chat template.\n\n"
      "Every drafter continues a prompt before the next one comes, and who is first changes from prompt to prompt; speed-ups are\n"
      "medians of the ratios to plain decoding of the same prompt. `none` named twice is measured against itself: that is the noise.\n"
      "Ctrl-C stops after the generation that runs and prints what is complete. Exit code 1 also means that a lossless drafter's\n"
      "text was not that of plain decoding.\n\n"
      "Example:\n"
      "  skipstone bench -m model.gguf\n"
      "  skipstone bench -m model.gguf -p 512 -n 128 -d 0,1024 -o json\n"
      "  skipstone bench --synthetic llama-2-7b:q4_0,q8_0,f16 -n 128 --rows 1,2,4,8,16\n"
      "  skipstone bench -m model.gguf --prompts HumanEval.jsonl.gz --limit 20\n"
      "  skipstone bench -m model.gguf --prompts HumanEval.jsonl.gz --limit 20 --preset layerskip-sweep --plot exits.svg\n"
      "  skipstone bench -m model.gguf --prompts spec-bench.jsonl --limit 20 --preset spec-bench --plot tasks.svg\n"
      "  skipstone bench --synthetic llama-2-7b:q4_0 --synthetic-acceptance 0.8,0.6 --draft exit:8,k=4\n"
      "  skipstone bench -m model.gguf --prompts prompts.txt --draft none,asd,asd:c=0.97,k=6 --format json -o result.json\n\n" +
      exit_code_help);
}

}  // namespace cli::bench
