#include "text/text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "arrow/arrow.hpp"

namespace dpdistinct {
namespace {

class File {
   public:
    explicit File(std::string path) : path_(std::move(path)) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { close(); }

    std::size_t read(char* to, std::size_t room) {
        if (descriptor_ < 0) descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor_ < 0) throw StreamFailed();
        ssize_t count;
        do count = ::read(descriptor_, to, room);
        while (count < 0 && errno == EINTR);
        if (count < 0) throw StreamFailed();
        if (count == 0) close();
        return static_cast<std::size_t>(count);
    }

   private:
    void close() {
        if (descriptor_ >= 0) ::close(descriptor_);
        descriptor_ = -1;
    }

    std::string path_;
    int descriptor_ = -1;
};

}  // namespace

std::function<std::size_t(char*, std::size_t)> file_reader(std::string path) {
    auto file = std::make_shared<File>(std::move(path));
    return [file](char* to, std::size_t room) { return file->read(to, room); };
}

void Cutter::begin_source() {
    if (at_end()) return;
    to_skip_ = sources_[current_].skip;
    tail_.clear();
    tail_quotes_ = quoted_ = after_quote_ = too_long_ = false;
    previous_ = sources_[current_].row_end;
    match_.begin_row();
}

void Cutter::cut(Block& block) {
    const Source& source = sources_[current_];
    block.source = &source;
    block.bytes.resize(tail_.size() + block_ + Block::kPadding);
    char* const data = block.bytes.data();
    std::copy(tail_.begin(), tail_.end(), data);
    std::size_t size = tail_.size();
    bool last = false;
    for (const std::size_t full = size + block_; size < full && !last;) {
        const std::size_t count = source.read(data + size, full - size);
        last = count == 0;
        size += count;
    }
    // tail_ is empty while bytes are skipped.
    const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(to_skip_, size));
    to_skip_ -= skipped;
    begin_ = skipped;

    block.quotes = tail_quotes_;
    scan(data, std::max(tail_.size(), skipped), size);
    block.quotes |= tail_quotes_;
    block.begin = skipped;
    if (too_long_) {
        block.begin = first_end_ == kNone ? size : first_end_ + 1;
        too_long_ = first_end_ == kNone;
        if (left_out_) left_out_->too_long += !too_long_;
    }
    block.end = last_end_ == kNone ? block.begin : last_end_ + 1;
    std::string_view tail(data + block.end, size - block.end);
    if (marks_)
        while (tail.starts_with(kMark)) tail.remove_prefix(kMark.size());
    if (last) {  // the end of the file also ends the last row, unless that is inside quotes
        const bool begun = !tail.empty(), open = quoted_ && !after_quote_;
        if (begun && !open) {
            data[size] = source.row_end;
            block.end = size + 1;
        }
        if (left_out_) {
            left_out_->too_long += too_long_;
            left_out_->open_quotes += begun && open;
        }
        ++current_;
        begin_source();
        return;
    }
    tail_ = tail;
    tail_quotes_ = tail_quotes_ && !tail_.empty();
    if (tail_.size() > longest_row_) {
        too_long_ = true;
        tail_.clear();
    }
}

// Jumps from quote to quote. Outside of quotes, a quote opens a field only after a delimiter or a row end;
// otherwise it is an ordinary byte. Inside quotes, two quotes stand for one.
void Cutter::scan(const char* data, std::size_t from, std::size_t size) {
    first_end_ = last_end_ = kNone;
    if (!quotes_) return note_row_ends(data, from, size);
    const char row_end = sources_[current_].row_end;
    const char* const end = data + size;
    const char* at = data + from;
    if (at == end) return;
    if (after_quote_) {
        after_quote_ = false;
        if (*at == '"')
            ++at;
        else
            leave_quotes();
    }
    while (at < end) {
        const char* quote = find(at, end, '"');
        if (quote != end) tail_quotes_ = true;
        if (!quoted_) {
            note_row_ends(data, static_cast<std::size_t>(at - data), static_cast<std::size_t>(quote - data));
            if (is_long_) match_up_to(data, at, quote);
            if (quote == end) break;
            const char before = quote == data + from ? previous_ : quote[-1];
            quoted_ = is_long_ ? match_.at_field()
                               : before == delimiters_[0] || before == delimiters_[1] || before == row_end;
            if (marks_ && !quoted_) quoted_ = only_marks_before(data, quote);
            at = quote + 1;
            if (is_long_ && !quoted_) match_.pass(quote, at);
        } else {
            if (quote == end) break;
            after_quote_ = quote + 1 == end;
            if (after_quote_) break;
            at = quote + 1;
            if (*at == '"')
                ++at;
            else
                leave_quotes();
        }
    }
    previous_ = end[-1];
}

void Cutter::leave_quotes() {
    quoted_ = false;
    match_.close_quotes();
}

// Whether nothing but byte order marks stands before this place in its row. The row lies in `data` from its beginning
// on, unless it is too long.
bool Cutter::only_marks_before(const char* data, const char* at) const {
    const char* const first = data + begin_;
    const auto size = static_cast<std::ptrdiff_t>(kMark.size());
    while (at - first >= size && std::string_view(at - size, kMark.size()) == kMark) at -= size;
    return at == first ? !too_long_ : at[-1] == sources_[current_].row_end;
}

// [at, to) lies outside of quotes. Only its last row matters for what follows.
void Cutter::match_up_to(const char* data, const char* at, const char* to) {
    if (last_end_ != kNone && data + last_end_ >= at) {
        at = data + last_end_ + 1;
        match_.begin_row();
    }
    match_.pass(at, to);
}

void Cutter::note_row_ends(const char* data, std::size_t from, std::size_t to) {
    const char row_end = sources_[current_].row_end;
    if (too_long_ && first_end_ == kNone) {
        const char* first = find(data + from, data + to, row_end);
        if (first == data + to) return;
        first_end_ = static_cast<std::size_t>(first - data);
    }
    for (std::size_t i = to; i > from; --i)
        if (data[i - 1] == row_end) {
            last_end_ = i - 1;
            return;
        }
}

}  // namespace dpdistinct
