// A model on a device (Engine, immutable after load) and a conversation with it (Session).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/kv_format.h"
#include "engine/prefix_cache.h"
#include "engine/progress.h"
#include "engine/round_switch.h"
#include "exec/cost_table.h"
#include "model/config.h"
#include "sample/rejection.h"
#include "sample/sampler.h"
#include "spec/loop.h"
#include "text/chat_templates.h"
#include "text/tokenizer.h"
#include "vk/caps.h"
#include "vk/host_device.h"

namespace skipstone {
class InputFile;
}

namespace skipstone::gguf {
class File;
}

namespace skipstone::tune {
struct Report;
}

namespace skipstone::exec {
class Link;
}

namespace skipstone::engine {

struct StageState;

enum class KvType { automatic, f16, f32, q8_0 };  ///< automatic: f16 (docs/numerics.md)

/// How passes of decoding multiply by weights (docs/numerics.md, "Decoding on matrix units").
enum class MathMode {
  f32,        ///< in floats
  matrix,     ///< on the device's matrix units; load() throws unsupported where it cannot be
  automatic,  ///< on matrix units of GPUs that are known to be fast with them; else in floats
};

/// What a model will take before anything is allocated. Bytes.
struct MemoryPlan {
  std::uint64_t weights = 0, kv = 0, activations = 0;
  std::uint64_t device_available = 0;  ///< 0: not known (no device asked)
  std::uint64_t host_available = 0;    ///< free memory of the system, what a CPU device shares
  std::uint32_t context = 0;
  KvFormat kv_format = KvFormat::f16;
  std::uint64_t kv_without_windows = 0;  ///< what `kv` would be if no layer had a window
  std::uint64_t kv_read = 0;  ///< of `kv`, by a token at the end of the context: layers with a window read the keys that they see
  std::uint64_t total() const { return weights + kv + activations; }
};

/// Where the kernels' choices come from (docs/tuning.md). No text depends on it.
enum class Tuning {
  automatic,  ///< what was measured before; on GPUs measured now where nothing was
  off,        ///< the built-in table
  first_use,  ///< as automatic, but measured on CPU devices too
};

/// The processes that have some of a model's layers each (cluster::Job): this one the first.
struct StageJob {
  std::uint32_t ranks = 1;
  std::uint32_t sharers = 1;  ///< of them, on this machine
  std::string device;         ///< of this one
  std::function<std::unique_ptr<exec::Link>(std::chrono::microseconds delay)> link_to_second;
  std::function<std::unique_ptr<exec::Link>()> link_from_last;
};

struct EngineOptions {
  std::string model_path;
  std::shared_ptr<const InputFile> model_file;  ///< instead of a path: one that is open, or memory; let go of when the model is loaded
  std::string synthetic;      ///< instead of a file: model::synthetic_model()'s notation, with random weights made on the device
  std::string pre_tokenizer;  ///< in place of the one that the model's file names (text/pretokenizer_rules.h); "": the file's
  std::string device;         ///< "" (best), a number of the list, or a part of a name
  /// Instead of one device, several with some of the layers each: "0,1", "0:20,1:12"; or "mpi", "mpi:20,12" for one of each process of
  /// `job`.
  std::string devices;
  std::optional<StageJob> job;
  std::uint64_t hop_microseconds = 0;  ///< that rows take longer from each device to the next: what a slower connection would be like
  std::uint32_t context = 0;           ///< 0: what the model was trained for, at most 4096
  KvType kv = KvType::automatic;
  bool validation = false;
  /// The device of the program around instead of one of the engine's own: `device`, `validation` and `low_priority` do not matter then.
  std::optional<vk::HostDevice> host;
  bool low_priority = false;       ///< other programs' work on the device goes first, where the driver knows priorities
  std::uint64_t memory_limit = 0;  ///< bytes of device memory that engine and sessions together never pass; 0: none
  Tuning tuning = Tuning::automatic;
  PrefixMode prefixes = PrefixMode::off;
  MathMode math = MathMode::f32;
  std::uint32_t pool_tokens = 0;  ///< that the KV cache of all sessions has room for at first; 0: one context
  Progress progress;
};

struct DeviceEntry {
  vk::Caps caps;
  std::string unsuitable;           ///< why it cannot run models; "" where it can
  bool chosen = false;              ///< what EngineOptions.device = `wanted` would take
  std::string reason;               ///< of the choice
  std::vector<std::string> quirks;  ///< driver defects worked around: "name: effect (reason)"
};

/// Every Vulkan device. Throws no_device where there is no loader. A `wanted` that matches nothing is no error here: nothing is chosen.
std::vector<DeviceEntry> list_devices(const std::string& wanted);

/// For `inspect`: the plan on no device in particular.
MemoryPlan plan_memory(const gguf::File& file, const model::Config& config, std::uint32_t context, KvType kv);

/// What benchmarks say about a model, beside its Config.
struct ModelFacts {
  std::uint64_t parameters = 0, file_bytes = 0;
  std::string type;                   ///< that most parameters have: "Q4_0"
  std::uint64_t bytes_per_token = 0;  ///< of weights that a pass over one token reads on the device
};

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  /// Opens, plans memory (throws out_of_memory with the numbers before allocating anything), loads, compiles. From any thread, as all of
  /// Engine: several may load at the same time, and share an engine.
  static std::shared_ptr<Engine> load(const EngineOptions& options);
  /// The same, on the device of another engine, for a model that drafts for that one's (DraftModel): `device` and `validation` do not
  /// matter (nor do those of the device itself), and the pipelines of drafting passes alone are made.
  static std::shared_ptr<Engine> load_beside(const Engine& other, const EngineOptions& options);
  ~Engine();

  const model::Config& config() const;
  /// Throws unsupported where the model has none.
  const text::Tokenizer& tokenizer() const;
  bool has_tokenizer() const;  ///< false for synthetic models
  const vk::Caps& device() const;
  const MemoryPlan& memory() const;
  std::uint64_t device_bytes_held() const;
  const std::string& model_fingerprint() const;
  const std::vector<text::ChatTemplate>& chat_templates() const;  ///< that the model file carries
  std::uint64_t validation_messages() const;
  const ModelFacts& facts() const;
  std::uint32_t max_rows() const;  ///< that a pass can verify
  /// Of engines on several devices: each with its layers, in order; else empty.
  std::vector<StageState> stages() const;

  /// Times the kernels' candidates on this model at length and keeps the choices in the cache, for engines that are loaded from now on.
  tune::Report tune(double seconds, const Progress& progress);
  /// What this model's passes cost on this device: from the cache, or measured now (a second or so on a GPU). What is measured while a
  /// session generates is too much.
  exec::CostTable costs(const Progress& progress);

  struct State;
  State& state() { return *state_; }

 private:
  Engine();
  static std::shared_ptr<Engine> load(const EngineOptions& options, const State* beside);
  std::unique_ptr<State> state_;
};

struct SessionOptions {
  sample::SamplerParams sampling;
  std::string draft = "none";  ///< spec::make_drafter's notation
  sample::Verification verification = sample::Verification::coupled;
  Rounds rounds = Rounds::automatic;
  /// Drafts of the next round while a verification is at other devices; nothing: where the first device is no CPU, whose further rows cost
  /// more than is saved (docs/results/many-devices.md).
  std::optional<bool> draft_ahead = {};
  /// Whether the device finds the tokens that sampling looks at; nothing: where it is faster so (vk::Tuning::candidates_from). The same
  /// text.
  std::optional<bool> candidates = {};
  std::vector<std::string> draft_corpus;  ///< text files for drafters that look drafts up in a corpus
  /// Told why, for each drafter that cannot be used: it is left out. Empty: such a drafter is an error.
  std::function<void(const std::string& why)> left_out;
  Progress progress;        ///< of making the session: called before each drafter and each measurement, and while what they need is read
  bool ignore_end = false;  ///< tokens that end a text are tokens like others
  /// Not empty: drafts are accepted by these probabilities (spec::SyntheticAcceptance) and no token ends the text, which says nothing.
  std::vector<double> synthetic_acceptance = {};
};

/// Throws invalid_argument where synthetic acceptance has wrong probabilities, or does not go with the other options.
void check_synthetic(const SessionOptions& options);

/// The index that drafts are looked up in. An engine keeps that of the last files asked for.
struct CorpusFacts {
  std::uint64_t tokens = 0, bytes = 0;  ///< bytes: of memory that the index takes
  double seconds = 0;                   ///< that reading, tokenising and indexing took
};

/// What a measurement runs behind `depth` tokens that are in the cache already: a prompt and then single tokens, or one pass that verifies
/// `rows` rows; or `chains` chains of so many rows, in as many passes as they take.
struct Work {
  std::uint32_t depth = 0, prompt = 0, generate = 0, rows = 0, chains = 0;
};

/// What a step waits for.
enum class StepMode {
  wait,  ///< until the device has done what the step submitted
  poll,  ///< for nothing: one submission, whose end a later step finds
};

/// One conversation, used by one thread at a time; sessions of an engine may run at the same time on threads of their own.
class Session {
 public:
  Session(std::shared_ptr<Engine> engine, const SessionOptions& options);
  ~Session();

  /// Appends `tokens` to the conversation and continues it. Statistics are of this call.
  spec::Outcome generate(const std::vector<text::Token>& tokens, std::uint32_t max_tokens, const spec::Emit& emit);
  /// As generate(), in steps that step() takes; everything else but reset() is refused until it has ended. `emit`, and the caller's
  /// sampler, are called from step(). Throws what generate() throws before its first pass.
  void begin(const std::vector<text::Token>& tokens, std::uint32_t max_tokens, const spec::Emit& emit);
  /// Goes on for about `budget`: submits pieces of passes as long as they are expected to be done by then, at least one. The outcome where
  /// the generation has ended. Throws what generate() throws; that ends it too.
  std::optional<spec::Outcome> step(std::chrono::microseconds budget, StepMode mode);
  bool begun() const;  ///< a generation has begun and not ended
  /// Asked between the passes of a prompt, of drafts and of trials, on the thread that runs them: true cancels. What is read stays read,
  /// and what was drafted is dropped.
  void cancel_when(std::function<bool()> cancelled);
  /// The last `count` tokens of the conversation are taken back. Within a continuation it is as if that had stopped there: it can go on
  /// without further tokens. Throws invalid_argument where there are fewer.
  void rewind(std::size_t count);
  /// One float for each token of the vocabulary: the logits behind the last token that has been read. Behind a prompt (prefill()) they
  /// choose the next token; behind a continuation, whose last token waits to be read, they chose that one. Runs a pass; changes no text.
  /// Throws invalid_argument where the conversation is empty, unsupported after lossy rounds.
  std::vector<float> logits();
  /// What these logits are made of: the residual stream behind the last norm, `width` floats.
  std::vector<float> hidden();
  /// Appends `tokens` to the conversation and reads them without continuing it. Throws invalid_argument where they do not fit.
  void prefill(const std::vector<text::Token>& tokens);
  /// The conversation becomes that of `from`, a session of the same engine: its keys and values are copied, not computed again. What the
  /// drafter has learned stays. The next continuation is what it would be behind the same calls of prefill() and generate(). Throws
  /// invalid_argument where the engines differ.
  void copy_from(Session& from);
  /// A new session with the same options and conversation. What the drafter has learned is not taken along.
  std::unique_ptr<Session> fork();
  /// Writes the conversation to a file, from which load() of a session of the same model, device and settings goes on with the same text.
  /// Throws as save_conversation().
  void save(const std::string& path);
  /// The conversation becomes that of the file. Throws as SavedConversation; then it stays what it was.
  void load(const std::string& path);
  /// Every token so far, prompt and continuation.
  const std::vector<text::Token>& history() const;
  /// Mean cosine per attention sublayer over the last prompt; empty unless the drafter asked for it.
  const std::vector<float>& attention_cosine() const;
  /// Share of the last `count` tokens of the conversation that the whole model would have chosen at their places.
  double agreement(std::size_t count) const;
  const CorpusFacts& corpus() const;  ///< all zero where the drafter looks at none
  void reset();                       ///< an empty conversation; keeps what the drafter has learned
  /// Seconds that `work` takes, with pseudo-random tokens and without the drafter; filling the cache to its depth is not counted, and not
  /// done again where an earlier measurement has. The conversation is empty afterwards. Throws invalid_argument where it does not fit.
  double measure(const Work& work);

 private:
  struct State;
  spec::Outcome run(const std::vector<text::Token>& tokens, std::uint32_t max_tokens, const spec::Emit& emit);
  std::unique_ptr<State> state_;
};

}  // namespace skipstone::engine
