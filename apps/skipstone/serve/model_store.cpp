#include "serve/model_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>

#include "serve/api_error.h"

namespace cli::serve {
namespace {

// Cancellations have no signal of their own for a request that waits here.
constexpr std::chrono::milliseconds poll{50};
// Longest time to wait for a model that is used for texts alone.
constexpr std::chrono::seconds patience{5};

[[noreturn]] void throw_ended() { throw ApiError(503, "this request was ended before its model was loaded"); }

/// The current exception as the failure of a load. Rethrows what is not about the model: a lost device, and no memory on the host.
ApiError load_failure(const std::string& name) {
  const auto failure = [&](unsigned status, const std::exception& error) {
    return ApiError(status, fmt::format("the model '{}' cannot be loaded: {}", name, error.what()), "model", "model_not_loaded");
  };
  try {
    throw;
  } catch (const skipstone::error& error) {
    if (error.status() == SKIPSTONE_DEVICE_LOST) throw;
    const bool later = error.status() == SKIPSTONE_OUT_OF_MEMORY || error.status() == SKIPSTONE_CANCELLED;
    return failure(later ? 503 : 500, error);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return failure(500, error);
  }
}

}  // namespace

struct ModelStore::Entry {
  ModelFile file;
  std::unique_ptr<const Model> model;
  std::size_t leases = 0;
  std::size_t generations = 0;  ///< of the leases
  bool loading = false;
  std::size_t leaving = 0;  ///< calls of make_room() that wait for it; it gives no leases meanwhile
  bool unloading = false;   ///< is being destroyed
  Clock::time_point last_used{};
  std::uint64_t loads = 0, unloads = 0;
  std::optional<ApiError> failure;  ///< of the last load
  Clock::time_point failed{};       ///< when that ended

  bool usable() const { return model != nullptr && leaving == 0; }
};

/// The model that a call of make_room() waits for. Used with the store's lock.
class ModelStore::Departure {
 public:
  explicit Departure(ModelStore& store) : store_(store) {}
  ~Departure() { set(nullptr); }
  Departure(const Departure&) = delete;
  Departure& operator=(const Departure&) = delete;
  void set(Entry* entry) {
    if (entry != nullptr) ++entry->leaving;
    if (entry_ != nullptr && --entry_->leaving == 0) store_.changed_.notify_all();
    entry_ = entry;
  }

 private:
  ModelStore& store_;
  Entry* entry_ = nullptr;
};

ModelStore::Lease::~Lease() {
  if (store_ != nullptr) store_->release(*entry_, use_);
}

const Model& ModelStore::Lease::operator*() const { return *entry_->model; }

ModelStore::ModelStore(std::vector<ModelFile> files, Load load, std::unique_ptr<const Model> first, Clock::duration idle)
    : load_(std::move(load)), idle_(idle), entries_(files.size()) {
  for (std::size_t i = 0; i < files.size(); ++i) entries_[i].file = std::move(files[i]);
  if (first) {
    entries_.front().model = std::move(first);
    entries_.front().loads = 1;
    entries_.front().last_used = Clock::now();
  }
  if (idle_.count() > 0) idle_thread_ = std::jthread([this](const std::stop_token& stop) { unload_idle(stop); });
}

// An engine may ask for room until it is destroyed.
ModelStore::~ModelStore() {
  stop();
  idle_thread_ = {};
  for (Entry& entry : entries_) {
    std::unique_ptr<const Model> model;
    const Lock lock(mutex_);
    model = std::move(entry.model);
  }
}

std::size_t ModelStore::size() const { return entries_.size(); }

const ModelFile& ModelStore::file(std::size_t model) const { return entries_.at(model).file; }

std::optional<std::size_t> ModelStore::find(std::string_view name) const {
  if (name.empty()) return 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (std::ranges::find(entries_[i].file.known_as, name) != entries_[i].file.known_as.end()) return i;
  }
  return std::nullopt;
}

ModelStore::State ModelStore::state(std::size_t model) const {
  const Lock lock(mutex_);
  const Entry& entry = entries_.at(model);
  const bool unloading = entry.unloading || (entry.model && entry.leaving > 0);
  const Status status = entry.loading ? Status::loading : unloading ? Status::unloading : entry.model ? Status::loaded : Status::unloaded;
  return {status, entry.loads, entry.unloads};
}

// ---- leases ----

ModelStore::Lease ModelStore::lease(Entry& entry, Use use) {
  ++entry.leases;
  if (use == Use::generation) {
    ++entry.generations;
    entry.last_used = Clock::now();
  }
  return {*this, entry, use};
}

void ModelStore::release(Entry& entry, Use use) {
  const Lock lock(mutex_);
  --entry.leases;
  if (use == Use::generation) {
    --entry.generations;
    entry.last_used = Clock::now();
  }
  changed_.notify_all();
}

ModelStore::Lease ModelStore::if_loaded(std::size_t model) {
  const Lock lock(mutex_);
  Entry& entry = entries_.at(model);
  if (!entry.usable()) return {};
  return lease(entry, Use::text);
}

ModelStore::Lease ModelStore::look(std::size_t model) {
  const Lock lock(mutex_);
  Entry& entry = entries_.at(model);
  if (!entry.model) return {};
  return lease(entry, Use::text);
}

ModelStore::Lease ModelStore::acquire(std::size_t model, const Caller& caller) {
  Lock lock(mutex_);
  Entry& entry = entries_.at(model);
  if (entry.usable()) return lease(entry, caller.use);
  const auto place = waiting_.emplace_hint(waiting_.end(), next_waiting_++, &entry);
  const auto leave = [&] {
    waiting_.erase(place);
    changed_.notify_all();
  };
  try {
    wait_for_model(entry, caller, lock);
  } catch (...) {
    leave();
    throw;
  }
  leave();
  return lease(entry, caller.use);
}

void ModelStore::wait_for_model(Entry& entry, const Caller& caller, Lock& lock) {
  while (!entry.usable()) {
    if (stopped_ || !caller.keep_going()) throw_ended();
    if (entry.failure && caller.since <= entry.failed) throw ApiError(*entry.failure);
    const bool turn = loader_ == std::thread::id() && waiting_.begin()->second == &entry;
    if (turn && !entry.model && !entry.unloading) {
      load(entry, caller, lock);
    } else {
      changed_.wait_for(lock, poll);
    }
  }
}

// ---- loading ----

void ModelStore::load(Entry& entry, const Caller& caller, Lock& lock) {
  loader_ = std::this_thread::get_id();
  loader_goes_ = &caller.keep_going;
  entry.loading = true;
  lock.unlock();
  std::unique_ptr<const Model> model;
  std::exception_ptr failed;
  try {
    // A client that leaves does not end the load: an impatient one would never get its model.
    model = load_(entry.file, [this] { return !stopped_; });
  } catch (...) {
    failed = std::current_exception();
  }
  lock.lock();
  loader_ = {};
  loader_goes_ = nullptr;
  entry.loading = false;
  entry.model = std::move(model);
  entry.loads += entry.model ? 1 : 0;
  if (entry.model) entry.failure.reset();
  entry.last_used = Clock::now();
  changed_.notify_all();
  if (!failed) return;
  if (stopped_ || !caller.keep_going()) throw_ended();  // a client that leaves may be why there was no memory: the next one tries again
  try {
    std::rethrow_exception(failed);
  } catch (...) {
    entry.failure = load_failure(entry.file.name);
  }
  entry.failed = Clock::now();
  throw ApiError(*entry.failure);
}

void ModelStore::unload(Entry& entry, Lock& lock) {
  entry.unloading = true;
  std::unique_ptr<const Model> model = std::move(entry.model);
  lock.unlock();
  model.reset();
  lock.lock();
  ++entry.unloads;
  ++unloads_;
  entry.unloading = false;
  changed_.notify_all();
}

bool ModelStore::has_waiting(const Entry& entry) const {
  return std::ranges::any_of(waiting_, [&](const auto& waiting) { return waiting.second == &entry; });
}

template <typename Which>
ModelStore::Entry* ModelStore::least_recently_used(const Which& which) {
  Entry* least = nullptr;
  for (Entry& entry : entries_) {
    if (entry.model && which(entry) && (least == nullptr || entry.last_used < least->last_used)) least = &entry;
  }
  return least;
}

bool ModelStore::make_room() {
  Lock lock(mutex_);
  const bool loads = loader_ == std::this_thread::get_id();
  const auto end = Clock::now() + patience;
  const std::uint64_t unloads = unloads_;
  const auto unloading = [this] { return std::ranges::any_of(entries_, &Entry::unloading); };
  Departure leaving(*this);
  Entry* used = nullptr;
  for (;;) {
    if (Entry* const idle = least_recently_used([](const Entry& entry) { return entry.leases == 0; })) {
      unload(*idle, lock);
      return true;
    }
    changed_.wait(lock, [&] { return !unloading(); });
    if (unloads_ != unloads) return true;  // by another thread
    const bool any = least_recently_used([](const Entry&) { return true; }) != nullptr;
    if (!any || stopped_ || (loads && !(*loader_goes_)())) return false;
    Entry* next = nullptr;
    if (Clock::now() < end) next = least_recently_used([](const Entry& entry) { return entry.generations == 0; });
    if (next == nullptr && !loads) return false;
    if (next == nullptr) {
      // Requests that have waited for a model use it before it leaves; once it is chosen, it takes no new ones.
      if (used == nullptr) used = least_recently_used([this](const Entry& entry) { return !has_waiting(entry); });
      next = used;
    }
    leaving.set(next);
    changed_.wait_for(lock, poll);
  }
}

void ModelStore::stop() {
  stopped_ = true;
  changed_.notify_all();
}

void ModelStore::unload_idle(const std::stop_token& stop) {
  Lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto now = Clock::now();
    const auto idle = [&](const Entry& entry) { return entry.leases == 0 && !has_waiting(entry); };
    if (Entry* const longest = least_recently_used(idle); longest != nullptr && longest->last_used + idle_ <= now) {
      unload(*longest, lock);
    } else {
      changed_.wait_until(lock, stop, longest != nullptr ? longest->last_used + idle_ : now + idle_, [] { return false; });
    }
  }
}

}  // namespace cli::serve
