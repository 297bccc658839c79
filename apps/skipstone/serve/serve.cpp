// skipstone serve: OpenAI's API over HTTP.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <ratio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/platform/system.h"
#include "commands.h"
#include "json/json.h"
#include "options/engine_options.h"
#include "options/number_option.h"
#include "options/session_options.h"
#include "results/device_note.h"
#include "serve/model_files.h"
#include "serve/model_store.h"
#include "serve/server.h"
#include "skipstone/skipstone_experimental.hpp"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli {
namespace {

using serve::Server;
using serve::ServerOptions;

struct ServeOptions {
  std::vector<std::string> models;
  std::string folder, chat_template, alias, key_file, prefixes = "exact";
  std::vector<std::string> keys;
  EngineOptions engine;
  ServerOptions server;
  SamplingOptions given;
  std::uint32_t cache_tokens = 0, drain_seconds = 30, grace_seconds = 0, most_seconds = 600;
  std::uint64_t body_bytes = std::uint64_t{8} << 20;
  double idle_minutes = 0;
  bool no_auth = false;
};

std::vector<std::string> keys_of(const ServeOptions& options) {
  std::vector<std::string> keys = options.keys;
  if (!options.key_file.empty()) {
    std::ifstream file(options.key_file);
    if (!file) fail(ExitCode::usage, "the file of keys '{}' cannot be read", options.key_file);
    for (std::string line; std::getline(file, line);) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (!line.empty()) keys.push_back(line);
    }
    if (keys.empty()) fail(ExitCode::usage, "the file of keys '{}' has none; a line is a key", options.key_file);
  }
  for (const std::string& key : keys) {
    if (key.empty()) fail(ExitCode::usage, "an empty --api-key gives everybody access");
  }
  if (keys.empty() && !serve::is_loopback(options.server.address) && !options.no_auth) {
    fail(ExitCode::usage, "--host {} lets other machines ask: give --api-key KEY, or --no-auth where everybody may",
         options.server.address);
  }
  return keys;
}

/// How a model is loaded: while the program starts, with a progress line and until a signal; or for a request.
struct Loading {
  std::function<skipstone::Engine(const skipstone_engine_params&)> engine;
  std::function<skipstone::Session(const skipstone::Engine&, const skipstone_session_params&)> session;
  std::function<bool()> keep_going;
};

Loading at_start() {
  return {[](const skipstone_engine_params& params) { return load_engine(params); }, make_session, [] { return !interrupt::requested(); }};
}

Loading for_request(const serve::ModelStore::KeepGoing& keep_going) {
  const auto progress = [keep_going](const char*, double) { return keep_going(); };
  return {[progress](const skipstone_engine_params& params) { return skipstone::Engine(params, progress); },
          [progress](const skipstone::Engine& engine, const skipstone_session_params& params) {
            return skipstone::Session(engine, params, progress);
          },
          keep_going};
}

/// Prepares measured costs, indexes, pipelines and the driver's first-run work, so that no token waits for them.
void prepare(const serve::Model& model, const ServerOptions& options, const Loading& loading) {
  skipstone_session_params params = skipstone::session_params();
  params.draft = options.defaults.draft.c_str();
  std::vector<skipstone::Session> sessions;  // alive at the same time, like requests
  for (const float temperature : {0.0f, 1.0f}) {
    params.temperature = temperature;
    sessions.push_back(loading.session(model.engine, params));
    sessions.back().generate({0}, 2, [&](const skipstone_chunk&) { return loading.keep_going(); });
    if (options.parallel == 1) sessions.clear();
  }
  skipstone::costs(model.engine);
}

std::unique_ptr<serve::Model> load_model(const ServeOptions& options, const serve::ModelFile& file, const std::string& alias,
                                         const Loading& loading) {
  skipstone_engine_params params = engine_params(file.path, options.engine);
  if (!file.mtp_file.empty()) params.mtp_path = file.mtp_file.c_str();
  params.memory_account = options.server.model_memory->get();
  params.memory_limit = 0;  // it is the account's, which all models share
  params.prefixes = options.prefixes == "off"    ? SKIPSTONE_PREFIXES_OFF
                    : options.prefixes == "fast" ? SKIPSTONE_PREFIXES_FAST
                                                 : SKIPSTONE_PREFIXES_EXACT;
  params.pool_tokens = options.cache_tokens;
  auto model = std::make_unique<serve::Model>(loading.engine(params), read_chat_template(options.chat_template), alias);
  warn_of_long_context(model->engine, options.engine);
  if (model->vocabulary == 0) fail(ExitCode::bad_model, "the model has no vocabulary");
  model->sampling = options.server.defaults.sampling;
  options.given.recommend(model->engine, model->sampling);
  prepare(*model, options.server, loading);
  return model;
}

/// The models of the server: one is loaded now and keeps its own name, several are loaded when requests name them.
std::unique_ptr<serve::ModelStore> make_store(const ServeOptions& options) {
  std::vector<serve::ModelFile> files = serve::find_models(options.models, options.folder);
  const bool one = files.size() == 1 && options.folder.empty();
  if (!one && !options.alias.empty()) fail(ExitCode::usage, "--alias names one model; several have the names of their files");
  if (!one && !options.engine.mtp_file.empty()) fail(ExitCode::usage, "--mtp-file is the head of one model; give one -m FILE");
  // A rank serves the engine that it has a link to until that ends.
  if (!one && options.engine.devices.starts_with("mpi")) fail(ExitCode::usage, "the ranks of a job serve one model; give one -m FILE");
  std::unique_ptr<serve::Model> first;
  if (one) {
    first = load_model(options, files.front(), options.alias, at_start());
    files.front().name = first->name;
    files.front().known_as = first->known_as;
  }
  const auto load = [&options](const serve::ModelFile& file, const serve::ModelStore::KeepGoing& keep_going) {
    const auto begin = std::chrono::steady_clock::now();
    auto model = load_model(options, file, file.name, for_request(keep_going));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (options.server.log) note("{} is loaded: {:.2f} s", file.name, time.count());
    return model;
  };
  const std::chrono::duration<double, std::ratio<60>> idle(options.idle_minutes);
  return std::make_unique<serve::ModelStore>(std::move(files), load, std::move(first),
                                             std::chrono::duration_cast<serve::ModelStore::Clock::duration>(idle));
}

/// Serves until a signal comes or the device is lost; then until running requests have ended.
ExitCode serve_until_the_end(Server& server, std::chrono::seconds grace, std::chrono::seconds drain) {
  using namespace std::chrono_literals;
  while (!interrupt::requested() && server.broken() == SKIPSTONE_OK) std::this_thread::sleep_for(20ms);
  server.announce_end();
  if (server.broken() == SKIPSTONE_OK && grace.count() > 0) {
    note("Ending: requests are taken for {} s more.", grace.count());
    const auto end = std::chrono::steady_clock::now() + grace;
    while (server.broken() == SKIPSTONE_OK && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(20ms);
  }
  server.drain();
  if (server.broken() != SKIPSTONE_OK) {
    print_error("the device is lost; start the server again");
    std::this_thread::sleep_for(500ms);  // for answers that are being sent
    return exit_code(server.broken(), false);
  }
  note("Ending: {} s for what is being answered.", drain.count());
  const auto end = std::chrono::steady_clock::now() + drain;
  while (!server.idle() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(20ms);
  if (!server.idle()) {
    server.cancel_all();
    const auto last = std::chrono::steady_clock::now() + 1s;
    while (!server.idle() && std::chrono::steady_clock::now() < last) std::this_thread::sleep_for(20ms);
  }
  server.say_goodbye();
  if (!server.working()) return ExitCode::ok;
  note("Ending in the middle of a pass.");  // a pass cannot be cancelled, and on a slow device it exceeds a service's stop timeout
  std::_Exit(0);
}

ExitCode run_serve(ServeOptions& options) {
  if (options.models.empty() && options.folder.empty()) options.models = {""};
  for (std::string& model : options.models) model = model_path(model);
  options.server.access.keys = keys_of(options);
  options.server.most_seconds = std::chrono::seconds(options.most_seconds);
  options.server.access.everybody = options.no_auth;
  options.server.http.body_bytes = options.body_bytes;
  if (skipstone_draft_is_lossless(options.server.defaults.draft.c_str()) == 0) {
    fail(ExitCode::usage, "--draft {} is no lossless drafter: a server's texts depend on the request alone", options.server.defaults.draft);
  }
  interrupt::install();
  skipstone::platform::keep_little_freed_memory();
  serve::ModelStore* store = nullptr;  // none while the first model is loaded
  const skipstone::MemoryAccount memory(options.engine.memory, [&store](std::uint64_t) { return store != nullptr && store->make_room(); });
  options.server.model_memory = &memory;
  options.server.model_memory_limit = options.engine.memory;
  const std::unique_ptr<serve::ModelStore> models = make_store(options);
  store = models.get();
  std::unique_ptr<Server> server;
  try {
    server = std::make_unique<Server>(*models, options.server);
  } catch (const std::runtime_error& error) {
    fail(ExitCode::failure, "{}", error.what());
  }
  const std::string host =
      options.server.address.find(':') == std::string::npos ? options.server.address : "[" + options.server.address + "]";
  const std::string name = models->size() == 1 ? models->file(0).name : fmt::format("{} models", models->size());
  if (const auto model = models->if_loaded(0)) {
    note_device(model->engine);
    if (model->chat.info().source == SKIPSTONE_CHAT_PLAIN) note(base_model_note);
  } else if (options.engine.devices.empty()) {
    note_device(engine_params("", options.engine).device);
  }
  note("Serving {} at http://{}:{} ({} requests at a time). Ctrl-C ends it.", name, host, server->port(), options.server.parallel);
  const ExitCode code =
      serve_until_the_end(*server, std::chrono::seconds(options.grace_seconds), std::chrono::seconds(options.drain_seconds));
  for (std::size_t i = 0; i < models->size(); ++i) {
    if (const auto model = models->if_loaded(i)) check_validation(model->engine);
  }
  return code;
}

/// A range check whose limits are in the help text: CLI11's own description has blanks, which parsers of --help take for an option's end.
CLI::Validator range(double least, double most) { return CLI::Range(least, most).description(""); }

void add_limits(CLI::App& command, ServeOptions& o) {
  const auto add = [&](const char* name, auto& value, const char* help) {
    return add_number(command, name, value, help)->capture_default_str()->group("Limits");
  };
  add("--parallel", o.server.parallel, "Requests that are answered at a time, 1 to 64")->check(range(1, 64));
  add("--queue", o.server.queue, "Requests that wait, at most 100000; beyond them the answer is 429")->check(range(0, 100000));
  add("--request-seconds", o.most_seconds, "Longest time that one request may take, 1 to 86400")->check(range(1, 86400));
  add("--drain-grace-seconds", o.grace_seconds,
      "When the server is to end: how long it takes requests although GET /health says 503, at most 3600")
      ->check(range(0, 3600));
  add("--drain-seconds", o.drain_seconds, "Longest time that running requests have when the server ends, at most 86400")
      ->check(range(0, 86400));
  add("--body-bytes", o.body_bytes, "Largest body of a request, 1024 to 1073741824")->check(range(1024, 1073741824));
  add("--memory-bytes", o.server.http.memory_bytes,
      "Memory of all connections, bodies, answers and events, 16777216 to 1099511627776; beyond it the answer is 503")
      ->check(range(16777216, 1099511627776));
  add("--idle-unload", o.idle_minutes, "Minutes without a request after which a model is unloaded until one comes; 0: never")
      ->check(range(0, 1e6))
      ->type_name("MINUTES");
  add("--cache-tokens", o.cache_tokens, "Room of the KV cache at first, of all requests and cached prefixes; 0: one context");
}

}  // namespace

void add_serve(CLI::App& app, ExitCode& code) {
  const auto options = std::make_shared<ServeOptions>();
  ServeOptions& o = *options;
  CLI::App* command = app.add_subcommand("serve", "Answer OpenAI's API over HTTP, with a chat page");
  command->add_option("-m,--model,MODEL", o.models, "GGUF file; may be given more than once; default: the bundled model")
      ->envname("SKIPSTONE_MODEL")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->add_option("--models", o.folder, "Offer the GGUF files of this folder; a model is loaded when a request names it")
      ->type_name("DIR");
  command->add_option("--alias", o.alias, "Name of the model in answers; default: the file's own")->type_name("NAME");
  command->add_option("--host", o.server.address, "Address to listen on")->capture_default_str()->type_name("ADDRESS");
  add_number(*command, "--port", o.server.port, "Port to listen on; 0: any that is free")->capture_default_str();
  command->add_option("--api-key", o.keys, "Key that requests have to send (Authorization: Bearer KEY); may be given more than once")
      ->envname("SKIPSTONE_API_KEY")
      ->type_name("KEY");
  command->add_option("--api-key-file", o.key_file, "File of such keys, one a line")->type_name("FILE");
  command->add_flag("--no-auth", o.no_auth, "Let everybody ask, also from other machines");
  command->add_option("--cors-origin", o.server.access.cors_origin, "Pages of this origin may ask from a browser; * for all")
      ->type_name("ORIGIN");
  command->add_option("--draft", o.server.defaults.draft, "Drafter of requests that name none; a lossless one")
      ->envname("SKIPSTONE_DRAFT")
      ->capture_default_str()
      ->type_name("DRAFTER");
  command
      ->add_option("--prefixes", o.prefixes,
                   "Beginnings of prompts that were read before are not read again: exact, fast (texts may differ in rare places), off")
      ->capture_default_str()
      ->check(CLI::IsMember({"exact", "fast", "off"}))
      ->type_name("MODE");
  command->add_option("--chat-template", o.chat_template, "A file with a Jinja template, or a name; default: the model's own")
      ->envname("SKIPSTONE_CHAT_TEMPLATE")
      ->type_name("FILE|NAME");
  command->add_flag("--log", o.server.log, "A line for every answer on standard error, without its text");
  command->add_flag("--log-text", o.server.log_text, "And the text of the question");
  add_limits(*command, o);
  add_engine_options(*command, o.engine);
  o.given = add_sampling_options(*command, o.server.defaults.sampling);
  // A request has its own or a random seed. Not get_option(): it must not throw, and copies the name.
  command->remove_option(command->get_options([](const CLI::Option* option) { return option->check_lname("seed"); }).front());
  command->footer(
      drafters_note() +
      "\nThe same request with a seed has the same answer, whatever else runs.\n\nExample:\n  skipstone serve -m model.gguf\n"
      "  curl http://127.0.0.1:8080/v1/chat/completions -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'\n\n" +
      exit_code_help);
  command->callback([options, &code] { code = run_serve(*options); });
}

}  // namespace cli
