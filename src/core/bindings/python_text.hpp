// Text sources as Python describes them.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "arrow/arrow.hpp"
#include "text/csv.hpp"
#include "text/text_stream.hpp"

namespace dpdistinct {

namespace nb = nanobind;

// An exception that stopped a source but is not an error of it, such as Ctrl-C.
inline std::exception_ptr& stopped_in_source() {
    thread_local std::exception_ptr stopped;
    return stopped;
}

// A Python function that returns the next bytes. Only the thread that reads the stream calls it.
class PythonReader {
   public:
    explicit PythonReader(nb::object next) : next_(std::move(next)) {}
    PythonReader(const PythonReader&) = delete;
    PythonReader& operator=(const PythonReader&) = delete;
    ~PythonReader() {  // the current thread may or may not hold the GIL
        nb::gil_scoped_acquire gil;
        next_.reset();
        bytes_.reset();
    }

    std::size_t read(char* to, std::size_t room) {
        nb::gil_scoped_acquire gil;
        if (left_ == 0) fetch();
        const std::size_t count = std::min(room, left_);
        const auto size = static_cast<std::size_t>(PyBytes_Size(bytes_.ptr()));
        std::memcpy(to, PyBytes_AsString(bytes_.ptr()) + (size - left_), count);
        left_ -= count;
        return count;
    }

   private:
    void fetch() {
        try {
            bytes_ = next_();
        } catch (const nb::python_error& error) {  // its text may quote the data
            if (!error.matches(PyExc_Exception)) stopped_in_source() = std::current_exception();
            throw StreamFailed();
        }
        if (!PyBytes_Check(bytes_.ptr())) {
            bytes_ = nb::bytes("", 0);
            throw StreamFailed();
        }
        left_ = static_cast<std::size_t>(PyBytes_Size(bytes_.ptr()));
    }

    nb::object next_;
    nb::object bytes_ = nb::bytes("", 0);
    std::size_t left_ = 0;
};

struct TextArguments {
    // layout: the bytes of the delimiter, those of the comment prefix, and whether there are quotes; or None.
    TextArguments(nb::handle given_sources, nb::handle layout, std::initializer_list<nb::handle> given_columns,
                  unsigned threads, std::size_t block, std::size_t longest_row) {
        if (!layout.is_none()) {
            query.csv = {text(nb::cast<nb::bytes>(layout[0])), text(nb::cast<nb::bytes>(layout[1])),
                         nb::cast<bool>(layout[2])};
            for (const std::string& word : {query.csv->delimiter, query.csv->comment})
                if (word.size() > Block::kPadding || word.find_first_of(std::string_view("\"\r\n\0", 4)) != word.npos)
                    wrong("layout");
        }
        if (block == 0 || threads == 0) wrong("block and threads");
        query.threads = threads;
        query.block = block;
        query.longest_row = longest_row;
        for (nb::handle some : given_columns)
            for (nb::handle column : some)
                query.columns.push_back({text(nb::cast<nb::bytes>(column[0])), nb::cast<int>(column[1])});
        for (nb::handle source : given_sources) add_source(source);
    }

    std::vector<Source> sources;
    TextQuery query;

   private:
    [[noreturn]] static void wrong(const char* what) { throw std::invalid_argument(std::string(what) + " wrong"); }
    static std::string text(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

    void add_source(nb::handle given) {
        Source source;
        const nb::object place = given[0];
        source.any_thread = nb::isinstance<nb::bytes>(place);
        if (source.any_thread) {
            source.read = file_reader(text(nb::cast<nb::bytes>(place)));
        } else {
            auto reader = std::make_shared<PythonReader>(place);
            source.read = [reader](char* to, std::size_t room) { return reader->read(to, room); };
        }
        source.skip = nb::cast<std::uint64_t>(given[1]);
        const std::string row_end = text(nb::cast<nb::bytes>(given[2]));
        if (row_end != "\n" && row_end != "\r" && row_end != "\r\n") wrong("row end");
        if (row_end != "\n" && !query.csv) wrong("row end");
        source.row_end = row_end.back();
        source.drop_return = row_end.size() == 2;
        for (nb::handle constant : given[3])
            source.constants.push_back(constant.is_none() ? std::nullopt
                                                          : std::optional(text(nb::cast<nb::bytes>(constant))));
        for (const TextColumn& column : query.columns)
            if (column.place < 0 && !(column.place == kFieldCount && query.csv) &&
                static_cast<std::size_t>(-1 - column.place) >= source.constants.size())
                wrong("place");
        sources.push_back(std::move(source));
    }
};

}  // namespace dpdistinct
