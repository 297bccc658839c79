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

[[noreturn]] void throw_ended() { throw ApiError(503, "this request was ended before its model was loaded"); }

/// The current exception of a load as the error of the request that needed it. A lost device is the server's own matter.
[[noreturn]] void throw_load_error(const std::string& name) {
  try {
    throw;
  } catch (const skipstone::error& error) {
    if (error.status() == SKIPSTONE_DEVICE_LOST) throw;
    const bool later = error.status() == SKIPSTONE_OUT_OF_MEMORY || error.status() == SKIPSTONE_CANCELLED;
    throw ApiError(later ? 503 : 500, fmt::format("the model '{}' cannot be loaded: {}", name, error.what()), "model", "model_not_loaded");
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw ApiError(500, fmt::format("the model '{}' cannot be loaded: {}", name, error.what()), "model", "model_not_loaded");
  }
}

}  // namespace

struct ModelStore::Entry {
  ModelFile file;
  std::unique_ptr<const Model> model;
  std::size_t leases = 0;
  bool loading = false;
  bool leaving = false;  ///< gives no more leases, until it is unloaded
  bool unloading = false;
  Clock::time_point last_used{};
  std::uint64_t loads = 0, unloads = 0;

  bool usable() const { return model != nullptr && !leaving; }
};

ModelStore::Lease::~Lease() {
  if (store_ != nullptr) store_->release(*entry_, is_use_);
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

ModelStore::~ModelStore() = default;

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
  return {entry.loading ? Status::loading : entry.model ? Status::loaded : Status::unloaded, entry.loads, entry.unloads};
}

// ---- leases ----

ModelStore::Lease ModelStore::lease(Entry& entry, bool is_use) {
  ++entry.leases;
  if (is_use) entry.last_used = Clock::now();
  return {*this, entry, is_use};
}

void ModelStore::release(Entry& entry, bool is_use) {
  const Lock lock(mutex_);
  --entry.leases;
  if (is_use) entry.last_used = Clock::now();
  changed_.notify_all();
}

ModelStore::Lease ModelStore::if_loaded(std::size_t model) {
  const Lock lock(mutex_);
  Entry& entry = entries_.at(model);
  if (!entry.usable()) return {};
  return lease(entry, false);
}

ModelStore::Lease ModelStore::acquire(std::size_t model, const KeepGoing& keep_going) {
  Lock lock(mutex_);
  Entry& entry = entries_.at(model);
  if (entry.usable()) return lease(entry, true);
  const auto place = waiting_.emplace_hint(waiting_.end(), next_waiting_++, &entry);
  const auto leave = [&] {
    waiting_.erase(place);
    changed_.notify_all();
  };
  try {
    wait_for_model(entry, keep_going, lock);
  } catch (...) {
    leave();
    throw;
  }
  leave();
  return lease(entry, true);
}

void ModelStore::wait_for_model(Entry& entry, const KeepGoing& keep_going, Lock& lock) {
  while (!entry.usable()) {
    if (stopped_ || !keep_going()) throw_ended();
    const bool turn = loader_ == std::thread::id() && waiting_.begin()->second == &entry;
    if (turn && !entry.model && !entry.unloading) {
      load(entry, keep_going, lock);
    } else {
      changed_.wait_for(lock, poll);
    }
  }
}

// ---- loading ----

void ModelStore::load(Entry& entry, const KeepGoing& keep_going, Lock& lock) {
  loader_ = std::this_thread::get_id();
  loader_goes_ = &keep_going;
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
  entry.last_used = Clock::now();
  changed_.notify_all();
  if (!failed) return;
  if (stopped_ || !keep_going()) throw_ended();
  try {
    std::rethrow_exception(failed);
  } catch (...) {
    throw_load_error(entry.file.name);
  }
}

void ModelStore::unload(Entry& entry, Lock& lock) {
  entry.leaving = entry.unloading = true;
  std::unique_ptr<const Model> model = std::move(entry.model);
  lock.unlock();
  model.reset();
  lock.lock();
  ++entry.unloads;
  entry.leaving = entry.unloading = false;
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
  for (;;) {
    if (Entry* const idle = least_recently_used([](const Entry& entry) { return entry.leases == 0; })) {
      unload(*idle, lock);
      return true;
    }
    const auto unloading = [this] { return std::ranges::any_of(entries_, &Entry::unloading); };
    if (unloading()) {
      changed_.wait(lock, [&] { return !unloading(); });
      return true;
    }
    const bool any = least_recently_used([](const Entry&) { return true; }) != nullptr;
    if (!loads || !any || stopped_ || !(*loader_goes_)()) return false;
    // Requests that have waited for a model use it before it leaves.
    if (Entry* const used = least_recently_used([this](const Entry& entry) { return !has_waiting(entry); }))
      return unload_after_use(*used, lock);
    changed_.wait_for(lock, poll);
  }
}

bool ModelStore::unload_after_use(Entry& entry, Lock& lock) {
  entry.leaving = true;
  while (entry.model && entry.leases > 0) {
    if (stopped_ || !(*loader_goes_)()) {
      entry.leaving = false;
      changed_.notify_all();
      return false;
    }
    changed_.wait_for(lock, poll);
  }
  if (entry.model) {
    unload(entry, lock);
  } else {  // another thread unloads it
    changed_.wait(lock, [&] { return !entry.unloading; });
  }
  return true;
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
