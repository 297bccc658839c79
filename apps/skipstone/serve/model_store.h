// The models of a server: loaded when a request needs them, unloaded when memory is short or after an idle time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "serve/generation.h"
#include "serve/model_files.h"

namespace cli::serve {

/// Thread-safe. Its mutex guards all that changes. It is never held while a model is loaded, used or destroyed, so an engine may call
/// make_room() from any allocation.
class ModelStore {
  struct Entry;
  class Departure;

 public:
  using Clock = std::chrono::steady_clock;
  using KeepGoing = std::function<bool()>;
  using Load = std::function<std::unique_ptr<const Model>(const ModelFile& file, const KeepGoing& keep_going)>;

  enum class Use {
    generation,  ///< may need device memory while it has the model
    text,        ///< needs none, and ends soon: tokens, templates, what GET shows
  };
  /// Who asks for a model.
  struct Caller {
    Use use = Use::generation;
    Clock::time_point since;  ///< when it asked the server: it shares the failure of a load that ended later
    KeepGoing keep_going;
  };

  /// A loaded model that stays loaded during the lease's lifetime.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept : store_(std::exchange(other.store_, nullptr)), entry_(other.entry_), use_(other.use_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    explicit operator bool() const { return store_ != nullptr; }
    const Model& operator*() const;
    const Model* operator->() const { return &**this; }

   private:
    friend class ModelStore;
    Lease(ModelStore& store, Entry& entry, Use use) : store_(&store), entry_(&entry), use_(use) {}
    ModelStore* store_ = nullptr;
    Entry* entry_ = nullptr;
    Use use_ = Use::text;
  };

  /// unloading: it takes no new requests, and has its memory until the last of its requests has ended and it is destroyed.
  enum class Status { unloaded, loading, loaded, unloading };
  struct State {
    Status status = Status::unloaded;
    std::uint64_t loads = 0, unloads = 0;
  };

  /// `first`: the first file's model if it is loaded already. `idle`: a model that no request has used for that long is unloaded; 0: never.
  ModelStore(std::vector<ModelFile> files, Load load, std::unique_ptr<const Model> first, Clock::duration idle);
  ~ModelStore();
  ModelStore(const ModelStore&) = delete;
  ModelStore& operator=(const ModelStore&) = delete;

  std::size_t size() const;
  const ModelFile& file(std::size_t model) const;
  /// The first model for "", nullopt for a name that none has.
  std::optional<std::size_t> find(std::string_view name) const;
  State state(std::size_t model) const;

  /// Loads the model if necessary, in the order of the calls. Throws ApiError (500, 503) if it cannot be loaded, or if the caller's
  /// keep_going() says so before.
  Lease acquire(std::size_t model, const Caller& caller);
  /// The model if it is loaded; else an empty lease. Neither an idle time nor the choice of the least recently used model counts it.
  Lease if_loaded(std::size_t model);
  /// The same, and also of a model that takes no new requests because it is to be unloaded: for what reads its state in no time.
  Lease look(std::size_t model);

  /// Unloads the least recently used model; false if it must not. Idle ones leave at once, those used for texts alone after a few seconds
  /// at most. The thread that loads a model also waits until generations of another one have ended, which then takes no new ones; other
  /// threads, which may have models themselves, do not: so two of them never wait for each other.
  bool make_room();
  /// Ends loading and waiting: acquire() throws from now on, except for loaded models.
  void stop();

 private:
  using Lock = std::unique_lock<std::mutex>;
  Lease lease(Entry& entry, Use use);
  void release(Entry& entry, Use use);
  void load(Entry& entry, const Caller& caller, Lock& lock);
  void unload(Entry& entry, Lock& lock);
  void wait_for_model(Entry& entry, const Caller& caller, Lock& lock);
  void unload_idle(const std::stop_token& stop);
  bool has_waiting(const Entry& entry) const;
  template <typename Which>
  Entry* least_recently_used(const Which& which);

  const Load load_;
  const Clock::duration idle_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::vector<Entry> entries_;
  std::map<std::uint64_t, const Entry*> waiting_;  ///< calls of acquire(), by their order
  std::uint64_t next_waiting_ = 0;
  std::uint64_t unloads_ = 0;               ///< of all models
  std::thread::id loader_;                  ///< the thread that loads a model, of which there is one at a time
  const KeepGoing* loader_goes_ = nullptr;  ///< its request's
  std::atomic<bool> stopped_{false};
  std::jthread idle_thread_;
};

}  // namespace cli::serve
