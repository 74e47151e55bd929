#include "text_stream.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "arrow_stream.hpp"
#include "csv.hpp"
#include "json.hpp"
#include "key_batch.hpp"
#include "parallel.hpp"
#include "xxh64.hpp"

namespace dpdistinct {
namespace {

// Calls row(fields) for every row of the block; fields[i] is that of the i-th requested column.
template <class Row>
void for_each_row(const Block& block, const TextQuery& query, Row row) {
    const std::size_t count = query.columns.size();
    const auto set_constants = [&](std::vector<Field>& fields) {
        for (std::size_t i = 0; i < count; ++i)
            if (query.columns[i].place < 0 && query.columns[i].place != kFieldCount)
                fields[i] = block.source->constants[static_cast<std::size_t>(-1 - query.columns[i].place)];
    };
    if (query.csv) {
        std::vector<int> places;
        for (const TextColumn& column : query.columns) places.push_back(column.place);
        CsvRows rows(places, *query.csv, query.longest_row, query.left_out.get());
        set_constants(rows.fields());
        rows.each(block, row);
        return;
    }
    std::vector<std::string> names, scratch(count);
    for (const TextColumn& column : query.columns) names.push_back(column.name);
    std::vector<Field> fields(count);
    set_constants(fields);
    JsonLine line;
    for (std::string_view rest = block.rows(); !rest.empty();) {
        const std::size_t size = rest.find('\n');
        if (size <= query.longest_row && line.read(rest.substr(0, size), names)) {
            for (std::size_t i = 0; i < count; ++i)
                if (query.columns[i].place >= 0) fields[i] = line.value(i, scratch[i]);
            row(fields);
        } else if (query.left_out) {
            const bool empty = rest.substr(0, size).find_first_not_of(" \t\r") == std::string_view::npos;
            LeftOut& counts = *query.left_out;
            ++(size > query.longest_row ? counts.too_long : empty ? counts.empty : counts.no_objects);
        }
        rest.remove_prefix(size + 1);
    }
}

struct MakeKeys {
    std::size_t people;
    TextGroups by;

    ArrowSchema schema(const TextQuery&) const { return key_schema(); }

    ArrowArray batch(const Block& block, const TextQuery& query) const {
        const std::uint64_t salts[] = {salt_hash(0), salt_hash(1)}, of_labels = label_salt();
        const std::size_t groups = by.every.size();
        std::vector<PeriodLabel> periods(groups);
        std::vector<std::string_view> texts(groups);  // of a row's label
        Keys keys;
        for_each_row(block, query, [&](const std::vector<Field>& fields) {
            for (const Field& field : fields)
                if (!field) return;
            std::uint64_t person = salts[0], pair = salts[1], label = of_labels;
            const auto add = [](std::uint64_t& hash, std::string_view text) {
                hash = xxh64(text.data(), text.size(), hash);
            };
            std::size_t i = 0;
            for (; i < people; ++i) add(person, *fields[i]);
            for (std::size_t g = 0; g < groups; ++g, ++i) {
                std::string_view& text = texts[g] = *fields[i];
                if (by.every[g] != Every::kWhole && (text = periods[g].of(text, by.every[g])).empty()) return;
                add(label, text);
            }
            const Group* const group = groups > 0 ? by.groups.find(label, [&](std::size_t g) { return texts[g]; }) : nullptr;
            if (groups > 0 && !group) return;
            if (group) pair = group->pair;
            for (; i < fields.size(); ++i) add(pair, *fields[i]);
            if (group) pair = by.groups.key(*group, pair);
            keys[0].push_back(person);
            keys[1].push_back(pair);
        });
        return key_batch(std::move(keys));
    }
};

struct Texts {
    void add(const Field& field) {
        const std::size_t row = ends.size() - 1;
        if (row % 8 == 0) valid.push_back(0);
        if (field) {
            valid.back() |= static_cast<unsigned char>(1 << row % 8);
            data.append(*field);
            // Cannot happen: a block and one long row, with four characters for each byte, are far smaller.
            if (data.size() > std::numeric_limits<std::int32_t>::max()) throw StreamFailed();
        } else {
            ++nulls;
        }
        ends.push_back(static_cast<std::int32_t>(data.size()));
    }

    std::vector<std::int32_t> ends{0};  // Arrow's offsets
    std::vector<unsigned char> valid;
    std::string data;
    std::int64_t nulls = 0;
};

struct MakeTexts {
    ArrowSchema schema(const TextQuery& query) const {
        std::vector<std::string> names;
        for (const TextColumn& column : query.columns) names.push_back(column.name);
        return table_schema(std::move(names), "u", true);
    }

    ArrowArray batch(const Block& block, const TextQuery& query) const {
        auto texts = std::make_shared<std::vector<Texts>>(query.columns.size());
        std::size_t count = 0;
        for_each_row(block, query, [&](const std::vector<Field>& fields) {
            for (std::size_t i = 0; i < fields.size(); ++i) (*texts)[i].add(fields[i]);
            ++count;
        });
        std::vector<ColumnBuffers> columns;
        for (const Texts& column : *texts)
            columns.push_back({{column.valid.data(), column.ends.data(), column.data.data()}, 3, column.nulls});
        return table_batch(count, columns, texts);
    }
};

// A block, and the batch made from it.
struct Piece {
    Block block;
    Released<ArrowArray> batch;
    bool ready = false;
};

// The thread that reads the stream works too: while the next batch is not ready, it cuts blocks and turns them
// into batches. The other threads do the same, but only the reading thread calls sources that are Python
// functions. So no helper ever waits for the GIL, and there can be no deadlock.
template <class Make>
class TextStream {
   public:
    TextStream(std::vector<Source> sources, TextQuery query, Make make)
        : query_(std::move(query)),
          make_(std::move(make)),
          cutter_(std::move(sources), query_.csv, query_.block, query_.longest_row, query_.left_out.get()) {}

    ~TextStream() {
        {
            std::lock_guard<std::mutex> lock(guard_);
            stopped_ = true;
        }
        changed_.notify_all();
    }  // helpers_ joins its threads

    ArrowSchema schema() const { return make_.schema(query_); }

    void next(ArrowArray* out) {
        start_helpers();
        std::unique_lock<std::mutex> lock(guard_);
        for (;;) {
            if (failure_) std::rethrow_exception(failure_);
            if (!pieces_.empty() && pieces_.front()->ready) break;
            if (work(lock, true)) continue;
            if (pieces_.empty() && !cutting_) return;  // the end
            changed_.wait(lock);
        }
        *out = std::exchange(static_cast<ArrowArray&>(pieces_.front()->batch), ArrowArray{});
        Block& used = pieces_.front()->block;
        in_flight_ -= used.bytes.size();
        if (used.bytes.size() <= 2 * (query_.block + Block::kPadding)) spare_.push_back(std::move(used));
        pieces_.pop_front();
        lock.unlock();
        changed_.notify_all();
    }

   private:
    void start_helpers() {
        if (started_) return;
        started_ = true;
        try {
            while (helpers_.size() + 1 < query_.threads) helpers_.emplace_back([this] { help(); });
        } catch (const std::system_error&) {  // the system allows no more threads; go on with those there are
        }
    }

    void help() {
        std::unique_lock<std::mutex> lock(guard_);
        while (!stopped_ && !failure_)
            if (!work(lock, false)) changed_.wait(lock);
    }

    // Does one step and returns true, or returns false if there is none: cuts a block if few are waiting,
    // otherwise reads one.
    bool work(std::unique_lock<std::mutex>& lock, bool reader) {
        const bool room = pieces_.size() < 2 * std::size_t{query_.threads} && in_flight_ < kMostInFlight;
        const bool may_cut = !cutting_ && !cutter_.at_end() && (reader || cutter_.any_thread()) && room;
        const bool cuts = may_cut && waiting_.size() < query_.threads;
        if (!cuts && waiting_.empty()) return false;
        try {
            cuts ? cut(lock) : read(lock);
        } catch (...) {
            failure_ = std::current_exception();
        }
        changed_.notify_all();
        return true;
    }

    void cut(std::unique_lock<std::mutex>& lock) {
        auto piece = std::make_unique<Piece>();
        if (!spare_.empty()) {
            piece->block = std::move(spare_.back());
            spare_.pop_back();
        }
        cutting_ = true;
        unlocked(lock, [&] { cutter_.cut(piece->block); });
        cutting_ = false;
        in_flight_ += piece->block.bytes.size();
        waiting_.push_back(piece.get());
        pieces_.push_back(std::move(piece));
    }

    void read(std::unique_lock<std::mutex>& lock) {
        Piece& piece = *waiting_.front();
        waiting_.pop_front();
        unlocked(lock, [&] { static_cast<ArrowArray&>(piece.batch) = make_.batch(piece.block, query_); });
        piece.ready = true;
    }

    template <class Step>
    static void unlocked(std::unique_lock<std::mutex>& lock, Step step) {
        struct Unlocked {
            explicit Unlocked(std::unique_lock<std::mutex>& given) : lock(given) { lock.unlock(); }
            ~Unlocked() { lock.lock(); }
            std::unique_lock<std::mutex>& lock;
        } unlocked_now(lock);
        step();
    }

    static constexpr std::size_t kMostInFlight = std::size_t{256} << 20;  // matters only if long rows make blocks large

    const TextQuery query_;
    const Make make_;
    std::mutex guard_;  // protects everything below
    std::condition_variable changed_;
    Cutter cutter_;                              // used without the lock, by the thread that set cutting_
    bool cutting_ = false;
    std::deque<std::unique_ptr<Piece>> pieces_;  // in the order of the rows
    std::deque<Piece*> waiting_;                 // pieces whose blocks no thread reads yet
    std::size_t in_flight_ = 0;                  // bytes of all blocks in pieces_
    std::vector<Block> spare_;                   // blocks to use again
    std::exception_ptr failure_;
    bool stopped_ = false;
    bool started_ = false;
    std::vector<JoiningThread> helpers_;  // the last member, so that they end first
};

template <class Make>
ArrowArrayStream text_stream(std::vector<Source> sources, TextQuery query, Make make) {
    return arrow_stream(
        std::make_unique<TextStream<Make>>(std::move(sources), std::move(query), std::move(make)));
}

}  // namespace

ArrowArrayStream text_values(std::vector<Source> sources, TextQuery query) {
    return text_stream(std::move(sources), std::move(query), MakeTexts{});
}

ArrowArrayStream text_keys(std::vector<Source> sources, TextQuery query, std::size_t people, TextGroups by) {
    return text_stream(std::move(sources), std::move(query), MakeKeys{people, std::move(by)});
}

}  // namespace dpdistinct
