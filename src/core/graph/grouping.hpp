// Rows grouped by element, nobody twice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/array.hpp"
#include "base/blocks.hpp"
#include "base/interrupt.hpp"
#include "base/sort.hpp"
#include "graph/graph.hpp"
#include "graph/key_numbers.hpp"

namespace dpdistinct {

// A pair whose person has a number already. Twelve bytes.
struct Row {
    Row(std::uint64_t key, Person number)
        : low(static_cast<std::uint32_t>(key)), high(static_cast<std::uint32_t>(key >> 32)), person(number) {}
    std::uint64_t element() const { return std::uint64_t{high} << 32 | low; }

    std::uint32_t low, high;  // of the element's key
    Person person;
};

// Groups one list of rows after another, in the same memory.
class Grouping {
   public:
    explicit Grouping(Person people) : seen_(people / 64 + 1, 0) {}

    // Takes more rows for the next call of by_element().
    void take(Blocks<Row>& rows) {
        std::size_t at = rows_.size();
        rows_.resize(at + rows.size());
        rows.drain([&](const Row* row, const Row* last) {
            for (; row != last; ++row) rows_[at++] = {row->element(), row->person};
        });
    }

    // Calls use(key, people) for the elements of the rows that were taken, in the order of their keys.
    template <class Use>
    void by_element(Interrupt& interrupt, Use use) {
        interrupt.worked(rows_.size());
        if (few_repeat())
            sort(interrupt, use);
        else
            count(interrupt, use);
        rows_.clear();
    }

   private:
    // Whether most elements seem to have one or two rows, so that a table of them does not pay.
    bool few_repeat() {
        const std::size_t some = std::min(rows_.size(), kSome);
        for (std::size_t i = 0; i < some; ++i) elements_(rows_[i].element);
        const std::size_t different = elements_.keys().size();
        elements_.clear();
        return 8 * different > 7 * some;
    }

    // By a sort of the rows.
    template <class Use>
    void sort(Interrupt& interrupt, Use use) {
        sorted_.resize(rows_.size());
        radix_sort(rows_.data(), rows_.size(), sorted_.data(), interrupt);
        const auto end = std::unique(sorted_.begin(), sorted_.end());
        grouped_.resize(rows_.size());
        for (auto first = sorted_.begin(); first != end;) {
            const std::uint64_t element = first->element;
            std::size_t people = 0;
            for (; first != end && first->element == element; ++first)
                grouped_[people++] = static_cast<Person>(first->person);
            use(element, std::span<const Person>(grouped_.data(), people));
        }
    }

    // By a table of the elements and a counting sort.
    template <class Use>
    void count(Interrupt& interrupt, Use use) {
        number_.resize(rows_.size());
        end_.clear();
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            if (i + 16 < rows_.size()) elements_.prepare(rows_[i + 16].element, rows_[i + 8].element);
            number_[i] = elements_(rows_[i].element);
            if (number_[i] == end_.size()) end_.push_back(0);
            ++end_[number_[i]];
        }
        const std::span<const Pair> order = elements_in_order(interrupt);
        std::uint64_t sum = 0;
        for (const Pair& element : order) sum += std::exchange(end_[element.person], sum);  // where it begins
        grouped_.resize(rows_.size());
        for (std::size_t i = 0; i < rows_.size(); ++i)
            grouped_[end_[number_[i]]++] = static_cast<Person>(rows_[i].person);
        Person* first = grouped_.data();
        for (const Pair& element : order) {
            Person* const last = grouped_.data() + end_[element.person];
            use(element.element, without_repetition({first, last}));
            first = last;
        }
        elements_.clear();
    }

    // Pairs of a key and its number, by key.
    std::span<const Pair> elements_in_order(Interrupt& interrupt) {
        const Array<std::uint64_t>& keys = elements_.keys();
        unsorted_.resize(keys.size());
        sorted_.resize(keys.size());
        for (std::size_t i = 0; i < keys.size(); ++i) unsorted_[i] = {keys[i], i};
        radix_sort(unsorted_.data(), keys.size(), sorted_.data(), interrupt);
        return sorted_;
    }

    std::span<const Person> without_repetition(std::span<Person> people) {
        if (people.size() == 1) return people;
        auto end = people.begin();
        for (const Person p : people) {  // no branch: the processor cannot predict which rows repeat others
            std::uint64_t& word = seen_[p / 64];
            const bool fresh = ~word >> p % 64 & 1;
            word |= std::uint64_t{1} << p % 64;
            *end = p;
            end += fresh;
        }
        const std::span<const Person> distinct(people.begin(), end);
        for (const Person p : distinct) seen_[p / 64] = 0;
        return distinct;
    }

    static constexpr std::size_t kSome = 1 << 10;
    Array<Pair> rows_;  // a person's number, for its key
    KeyNumbers elements_;
    Array<std::uint32_t> number_;  // of each row's element
    Array<std::uint64_t> end_;     // of each element: how many rows, then where they begin, then where they end
    Array<Pair> unsorted_, sorted_;
    Array<Person> grouped_;
    std::vector<std::uint64_t> seen_;  // one bit for each person; all zero between elements
};

}  // namespace dpdistinct
