// Evens out loads level by level, from the top (see balanced.cpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/matching/assignment.hpp"
#include "algorithms/matching/start.hpp"
#include "base/array.hpp"
#include "base/interrupt.hpp"
#include "graph/graph.hpp"

namespace dpdistinct {

// Some people are final: their loads are what they must be, and no element leaves them or comes to them.
//
// At level k nobody else has more than k. Whoever has k is a root, whoever has k - 2 or less a target. A tree
// grows from every root along the elements that its people own, to the other holders. When it meets a target, one unit
// moves along it and the tree is felled; the others stand. Rounds through all trees are repeated until none
// meets a target. Then everybody in them is final: they have k or k - 1, and reach only each other and the
// final. The time goes into reaching for memory, so what people own lies together, person by
// person, and holders who are final are taken out when somebody enters a tree.
class Peel {
   public:
    // The work, in pairs looked at, ends after about `patience` times that of looking at everything once.
    Peel(const Graph& graph, Start start, std::uint64_t patience, Interrupt& interrupt);

    // True if no load can be evened out any more; false if the work has come to its end before.
    bool run();

    std::vector<std::uint32_t> loads() && { return std::move(load_); }

    // Those who are not final, and what they own and others of them hold too.
    std::vector<Person> people_left() const;
    Assignment assignment_left() &&;

   private:
    using Place = std::uint64_t;  // of an element in words_

    // Somebody in a tree.
    struct Visit {
        Place by;              // the element that leads here from the parent
        std::uint32_t gained;  // where the parent has it: in gained_, or kNone for the parent's block
        std::uint32_t parent;  // a visit; kNone for a root
        std::uint32_t tree;
        Person person;
    };
    struct Gained {
        Place element;  // or kNowhere, if it has been given away
        std::uint32_t next;
    };
    struct Arrival {
        Person person;
        std::uint32_t next;
    };
    class People {  // a set
       public:
        explicit People(Person people) : bits_(people / 64 + 1, 0) {}
        bool has(Person p) const { return bits_[p / 64] >> (p % 64) & 1; }
        void add(Person p) { bits_[p / 64] |= bit(p); }
        void remove(Person p) { bits_[p / 64] &= ~bit(p); }

       private:
        static std::uint64_t bit(Person p) { return std::uint64_t{1} << (p % 64); }
        std::vector<std::uint64_t> bits_;
    };

    void arrange(const Graph& graph, const Start& start);
    void file_by_load();
    void plant(std::uint32_t level);
    bool round(std::uint32_t level);
    void prefetch_visits(std::uint32_t i) const;
    void fell();
    void tidy(Person p);
    bool look_around(std::uint32_t i, std::uint32_t level);
    bool look_at(std::uint32_t i, Place e, std::uint32_t gained, std::uint32_t level);
    void move(std::uint32_t i, Place e, std::uint32_t gained, Person target);
    void gain(Person p, Place e);
    void change_load(Person p, std::uint32_t to);
    bool out_of_patience() const;
    void worked(std::uint64_t pairs);
    template <class Each>
    void owned(Person p, Each each) const;

    Interrupt& interrupt_;
    std::uint64_t work_ = 0;  // pairs looked at
    std::uint64_t limit_ = 0;

    // Of each person:
    std::vector<std::uint32_t> load_;
    People seen_;  // in a tree, or final
    People final_;
    std::vector<Place> begin_;                 // their block in words_
    std::vector<std::uint32_t> first_gained_;  // the list of what they have got since

    // The block of a person has, for each element they owned at first: the number of the other holders, then these.
    // An element given away stays here with a mark, for the lists of others lead to it. A zero ends the block early.
    Array<std::uint32_t> words_;
    std::vector<Gained> gained_;

    // Who has which load: at first, in a row; and a list of those who have come to it since (some have left again).
    Array<Person> by_load_;
    std::vector<Person> first_with_;  // of each load: where they begin in by_load_
    std::vector<std::uint32_t> last_arrival_;
    std::vector<Arrival> arrivals_;
    std::vector<Person> not_final_;  // of each load: how many have it and are not final

    // The trees of this level: everybody once, parents first.
    Array<Visit> visits_;
    std::uint32_t visited_ = 0;
    std::uint32_t standing_ = 0;  // so many of them were here in the round before
    std::vector<char> moved_;     // of each tree: whether a unit has left it
    Array<std::uint32_t> renumbered_;
};

}  // namespace dpdistinct
