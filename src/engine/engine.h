// A model on a device (Engine, thread-safe; its model does not change after load) and a conversation with it (Session).
#pragma once

#include <array>
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
#include "engine/round_mode_policy.h"
#include "exec/cost_table.h"
#include "model/config.h"
#include "sample/rejection.h"
#include "sample/sampler.h"
#include "speculation/loop.h"
#include "text/tokenizer.h"
#include "vk/caps.h"
#include "vk/host_device.h"
#include "vk/memory_account.h"

namespace skipstone {
class InputFile;
}

namespace skipstone::gguf {
class File;
}

namespace skipstone::grammar {
class Grammar;
}

namespace skipstone::tune {
struct Report;
}

namespace skipstone::exec {
class Link;
}

namespace skipstone::kernels {
class Library;
}

namespace skipstone::engine {

struct StageState;

enum class KvType { automatic, f16, f32, q8_0, q4_0, q5_1 };  ///< automatic: f16 (docs/numerics.md)
/// By KvType, from f16 on.
inline constexpr std::array kv_type_formats = {KvFormat::f16, KvFormat::f32, KvFormat::q8_0, KvFormat::q4_0, KvFormat::q5_1};
/// The types of keys and of values.
struct KvTypes {
  KvTypes(KvType both = KvType::automatic) : k(both), v(both) {}
  KvTypes(KvType of_k, KvType of_v) : k(of_k), v(of_v) {}
  KvType k, v;
};

/// How decoding passes multiply by weights (docs/numerics.md, "Decoding on matrix units").
enum class MathMode {
  f32,        ///< in floats
  matrix,     ///< on the device's matrix units; load() throws unsupported if that is impossible
  automatic,  ///< on matrix units of GPUs known to be fast with them; else in floats
};

/// A model's memory in bytes, planned before anything is allocated.
struct MemoryPlan {
  std::uint64_t weights = 0, kv = 0, activations = 0;
  std::uint64_t experts = 0;           ///< of `weights`, stacks of experts, which could be in host memory
  std::uint64_t host_weights = 0;      ///< of experts in host memory, which no limit of device memory counts
  std::uint32_t experts_on_host = 0;   ///< leading layers of the model whose experts are there
  std::uint64_t device_available = 0;  ///< 0: not known (no device asked)
  std::uint64_t host_available = 0;    ///< free system memory, shared with a CPU device
  std::uint32_t context = 0;
  KvFormats kv_format = KvFormat::f16;
  std::uint64_t kv_without_windows = 0;  ///< what `kv` would be if no layer had a window
  std::uint64_t kv_read = 0;             ///< of `kv`, by a token at the end of the context: sliding-window layers read their window
  std::uint64_t total() const { return weights + kv + activations; }  ///< on the device
  /// Held besides: staging and read-back, and unused ends of blocks. It counts where a limit is set, which these would pass otherwise.
  /// Measured on lavapipe: 2.4, 3.1 and 4.0 MiB with plans of 36, 39 and 55 MiB. Staging for a discrete GPU may take up to 32 MiB.
  std::uint64_t working() const { return working_memory(total()); }
  static constexpr std::uint64_t working_memory(std::uint64_t total) { return (std::uint64_t{3} << 20) + total / 40; }
};

/// Where the kernels' choices come from (docs/tuning.md). No text depends on it.
enum class Tuning {
  automatic,  ///< earlier measurements; GPUs without any are measured now
  off,        ///< the built-in table
  first_use,  ///< as automatic, but measured on CPU devices too
};

/// The processes that have some of a model's layers each (cluster::Job); this process is the first.
struct StageJob {
  std::uint32_t ranks = 1;
  std::uint32_t sharers = 1;  ///< processes on this machine
  std::string device;         ///< this process's device
  std::function<std::unique_ptr<exec::Link>(std::chrono::microseconds delay)> link_to_second;
  std::function<std::unique_ptr<exec::Link>()> link_from_last;
};

struct EngineOptions {
  std::string model_path;
  std::shared_ptr<const InputFile> model_file;  ///< instead of a path: an open file or memory; released when the model is loaded
  std::string synthetic;      ///< instead of a file: model::synthetic_model()'s notation, with random weights made on the device
  std::string mtp_path;       ///< a second file with heads for multi-token prediction; "": none
  std::string pre_tokenizer;  ///< instead of the one that the model file names (text/pretokenizer.h); "": the file's
  std::string device;         ///< "" (best), a number of the list, or a part of a name
  /// Instead of one device, several with some of the layers each: "0,1", "0:20,1:12"; or "mpi", "mpi:20,12" for one of each process of
  /// `job`.
  std::string devices;
  std::optional<StageJob> job;
  std::uint64_t transfer_microseconds = 0;  ///< added to each transfer between devices, to simulate a slower connection
  std::uint32_t context = 0;                ///< 0: what the model was trained for, at most 4096
  KvTypes kv;
  bool validation = false;
  /// The embedding program's device instead of one of the engine's own: `device`, `validation` and `low_priority` are ignored then.
  std::optional<vk::HostDevice> host;
  /// Kernels, with the device that they are made for, instead of the engine's own: engines that follow each other compile each of them once
  /// so. What the options say of the device and its memory is ignored then.
  std::shared_ptr<kernels::Library> kernels;
  bool low_priority = false;  ///< other programs' work on the device has priority, if the driver supports priorities
  /// Leading layers of the model whose experts stay in host memory, where the device reads them; more than it has: all. Nothing: the fewest
  /// with which it fits its devices and their limit, none where it fits as it is.
  std::optional<std::uint32_t> experts_on_host;
  std::uint64_t memory_limit = 0;  ///< limit in bytes of device memory of this process for engine and sessions together; 0: none
  Tuning tuning = Tuning::automatic;
  PrefixMode prefixes = PrefixMode::off;
  MathMode math = MathMode::f32;
  std::uint32_t pool_tokens = 0;                      ///< initial KV cache capacity of all sessions; 0: one context
  std::shared_ptr<vk::MemoryAccount> memory_account;  ///< that several engines share, instead of a limit of this one's own
  Progress progress;
};

struct DeviceEntry {
  vk::Caps caps;
  std::string unsuitable;           ///< why it cannot run models; "" where it can
  bool chosen = false;              ///< EngineOptions.device = `wanted` would choose it
  std::string reason;               ///< reason of the choice
  std::vector<std::string> quirks;  ///< driver defects worked around: "name: effect (reason)"
};

/// Every Vulkan device. Throws no_device if there is no Vulkan loader. A `wanted` that matches nothing is not an error here: nothing is
/// chosen.
std::vector<DeviceEntry> list_devices(const std::string& wanted);

/// For `inspect`: the plan without a device.
MemoryPlan plan_memory(const gguf::File& file, const model::Config& config, std::uint32_t context, const KvTypes& kv);

/// Facts about a model that benchmarks report besides its Config.
struct ModelFacts {
  std::uint64_t parameters = 0, file_bytes = 0;
  std::string type;                   ///< of most parameters: "Q4_0"
  std::uint64_t bytes_per_token = 0;  ///< of weights that a pass over one token reads on the device
};

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  /// Opens, plans memory (throws out_of_memory with the numbers before allocating anything), loads, compiles. Callable from any thread, as
  /// all of Engine: several threads may load at the same time, and share an engine.
  static std::shared_ptr<Engine> load(const EngineOptions& options);
  /// The same on the device of another engine, for a model that drafts for that engine's (DraftModel): `device` and `validation` are
  /// ignored (as are the device's other options), and only the pipelines of drafting passes are made.
  static std::shared_ptr<Engine> load_beside(const Engine& other, const EngineOptions& options);
  ~Engine();

  const model::Config& config() const;
  /// Throws unsupported if the model has none.
  const text::Tokenizer& tokenizer() const;
  bool has_tokenizer() const;  ///< false for synthetic models
  const vk::Caps& device() const;
  const MemoryPlan& memory() const;
  // What is asked of stages on several devices is of the last moment when they did not work: nothing waits for them.
  std::uint64_t device_bytes_held() const;
  std::uint64_t host_bytes_held() const;  ///< of experts in host memory
  const std::string& model_fingerprint() const;
  const std::vector<text::ChatTemplate>& chat_templates() const;  ///< in the model file
  std::uint64_t validation_messages() const;
  const ModelFacts& facts() const;
  std::uint32_t max_rows() const;  ///< limit of rows that a pass can verify
  /// For engines on several devices: the devices with their layers, in order; else empty. As device_bytes_held().
  std::vector<StageState> stages() const;

  /// Times the kernels' candidates on this model at length and keeps the choices in the cache, for engines that are loaded from now on.
  tune::Report tune(double seconds, const Progress& progress);
  /// The costs of this model's passes on this device: from the cache, or measured now (a second or so on a GPU). Costs that are measured
  /// while a session generates are too high.
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
  std::string draft = "none";  ///< speculation::make_drafter's notation
  sample::Verification verification = sample::Verification::coupled;
  Rounds rounds = Rounds::automatic;
  /// Makes drafts of the next round while a verification is on remote devices; nothing: if the first device is not a CPU, whose additional
  /// rows cost more than is saved (docs/results/many-devices.md).
  std::optional<bool> pipeline_drafts = {};
  /// Whether the device finds the tokens that sampling considers; nothing: if that is faster (vk::Tuning::candidates_from). The text is the
  /// same.
  std::optional<bool> candidates = {};
  std::vector<std::string> draft_corpus;  ///< text files for drafters that look drafts up in a corpus
  /// Called with the reason for each drafter that cannot be used and is left out. Empty: such a drafter is an error.
  std::function<void(const std::string& why)> left_out;
  Progress progress;        ///< of making the session: called before each drafter and measurement, and while their input is read
  bool ignore_end = false;  ///< end tokens do not end a text
  std::shared_ptr<grammar::Grammar> grammar = {};  ///< what each continuation fits; null: anything. Not with ignore_end or a rule
  /// Not empty: drafts are accepted by these probabilities (speculation::SyntheticAcceptance) and no token ends the text, which is
  /// meaningless.
  std::vector<double> synthetic_acceptance = {};
};

/// Throws invalid_argument if synthetic acceptance has invalid probabilities or is incompatible with the other options.
void check_synthetic(const SessionOptions& options);

/// The index that drafts are looked up in. An engine keeps that of the last requested files.
struct CorpusFacts {
  std::uint64_t tokens = 0, bytes = 0;  ///< bytes: memory of the index
  double seconds = 0;                   ///< of reading, tokenising and indexing
};

/// The passes that a measurement runs after `depth` tokens that are in the cache already: a prompt and then single tokens, or one pass that
/// verifies `rows` rows, or `chains` chains of `rows` rows each, in as many passes as needed.
struct Work {
  std::uint32_t depth = 0, prompt = 0, generate = 0, rows = 0, chains = 0;
};

/// The event that a step waits for.
enum class StepMode {
  wait,  ///< until the device has completed the submitted passes
  poll,  ///< nothing: makes one submission, whose end a later step detects
};

/// One conversation, used by one thread at a time; sessions of an engine may run at the same time on threads of their own.
class Session {
 public:
  Session(std::shared_ptr<Engine> engine, const SessionOptions& options);
  ~Session();

  /// Appends `tokens` to the conversation and continues it. Statistics are of this call.
  speculation::Outcome generate(const std::vector<text::Token>& tokens, std::uint32_t max_tokens, const speculation::Emit& emit);
  /// As generate(), in steps that step() takes; everything else but reset() is refused until it has ended. `emit`, and the caller's
  /// sampler, are called from step(). Throws what generate() throws before its first pass.
  void begin(const std::vector<text::Token>& tokens, std::uint32_t max_tokens, const speculation::Emit& emit);
  /// Continues the generation for about `budget`: submits slices of passes as long as they are expected to end within it, at least one.
  /// Returns the outcome if the generation has ended. Throws what generate() throws; an exception ends the generation too.
  std::optional<speculation::Outcome> step(std::chrono::microseconds budget, StepMode mode);
  bool begun() const;  ///< whether a generation has begun and not ended
  /// `cancelled` is called between the passes of a prompt, of drafts and of trials, on the thread that runs them: true cancels. Tokens that
  /// were read stay in the cache, drafts are dropped.
  void cancel_when(std::function<bool()> cancelled);
  /// Rolls back the last `count` tokens of the conversation. A continuation that is truncated this way is as if it had stopped there: it
  /// can continue without further tokens. Throws invalid_argument if there are fewer tokens.
  void rewind(std::size_t count);
  /// One float for each token of the vocabulary: the logits after the last token that has been read. After a prompt (prefill()) they choose
  /// the next token; after a continuation, whose last token is not read yet, they chose that token. Runs a pass; changes no text. Throws
  /// invalid_argument if the conversation is empty, unsupported after lossy rounds.
  std::vector<float> logits();
  /// The hidden state that these logits are computed from: the residual stream after the last norm, `width` floats.
  std::vector<float> hidden();
  /// Appends `tokens` to the conversation and reads them without continuing it. Throws invalid_argument if they do not fit.
  void prefill(const std::vector<text::Token>& tokens);
  /// The conversation becomes that of `from`, a session of the same engine: its keys and values are copied, not computed again. The drafter
  /// keeps its learned state. The next continuation is the same as after the same calls of prefill() and generate(). Throws
  /// invalid_argument if the engines differ.
  void copy_from(Session& from);
  /// A new session with the same options and conversation. The drafter's learned state is not copied.
  std::unique_ptr<Session> fork();
  /// Writes the conversation to a file, from which load() of a session of the same model, device and settings continues with the same text.
  /// Throws as save_conversation() does.
  void save(const std::string& path);
  /// The conversation becomes that of the file. Throws as SavedConversation does; the conversation is unchanged then.
  void load(const std::string& path);
  /// Number of tokens of the conversation; while a generation or prefill() runs, what it was before.
  std::size_t length() const;
  /// Every token so far, prompt and continuation. Not while a generation runs: it holds drafts at times. It is no argument of generate() or
  /// prefill(), which append to it.
  const std::vector<text::Token>& history() const;
  /// Mean cosine per attention sublayer over the last prompt; empty unless the drafter requested it.
  const std::vector<float>& attention_cosine() const;
  /// Share of the last `count` tokens of the conversation that the full model would have chosen at their positions.
  double agreement(std::size_t count) const;
  /// Calls `emit` for each of `tokens` but the first, with the log-probabilities of its row: what the model gives it after those before it.
  /// The conversation stays as it is. Throws invalid_argument if they do not fit the context, cancelled if `emit` says false.
  void score(const std::vector<text::Token>& tokens, const speculation::Emit& emit) const;
  const CorpusFacts& corpus() const;  ///< all zero if the drafter uses no corpus
  void reset();                       ///< an empty conversation; keeps what the drafter has learned
  /// Seconds that `work` takes, with pseudo-random tokens and without the drafter; filling the cache to its depth is not counted, and not
  /// repeated if an earlier measurement has done it. The conversation is empty afterwards. Throws invalid_argument if it does not fit.
  double measure(const Work& work);

 private:
  struct State;
  speculation::Outcome run(const std::vector<text::Token>& tokens, std::uint32_t max_tokens, const speculation::Emit& emit);
  std::unique_ptr<State> state_;
};

}  // namespace skipstone::engine
